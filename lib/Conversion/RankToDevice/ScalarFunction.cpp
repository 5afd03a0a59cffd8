//===- ScalarFunction.cpp - elementwise operations as functions -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarFunction.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>

namespace stagewright::device {

/// Constants of GELU by tanh: sqrt(2 / pi), and the factor of the cube.
static const double kOuter = std::sqrt(2 / std::acos(-1.0));
constexpr double kCubic = 0.044715;

/// The tanh that GELU and its derivative have in common.
static Formula tanhOf(Formulas &formulas, const Formula &x) {
  return formulas.tanh(Formula(kOuter) * (x + Formula(kCubic) * x * x * x));
}

Formula gelu(Formulas &formulas, const Formula &x) {
  return Formula(0.5) * x * (Formula(1) + tanhOf(formulas, x));
}

Formula geluDerivative(Formulas &formulas, const Formula &x) {
  Formula t = tanhOf(formulas, x);
  return Formula(0.5) * (Formula(1) + t) +
         Formula(0.5 * kOuter) * x * (Formula(1) - t * t) *
             (Formula(1) + Formula(3 * kCubic) * x * x);
}

/// The operation that makes `array`, if its elements are functions of other
/// elements at the same index; else null.
static linalg::GenericOp elementwise(Value array) {
  auto op = array.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() != 0 || op->getNumResults() != 1 ||
      !op.hasPureTensorSemantics() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() ||
      !op.getRegionOutputArgs()[0].use_empty())
    return {};
  return op;
}

/// The leaf of an operand: indexed as the result, or by the last loop (a row).
static FailureOr<ScalarFunction::Leaf> leafOf(OpOperand &operand) {
  auto op = cast<linalg::GenericOp>(operand.getOwner());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  unsigned last = map.getNumDims() - 1;
  if (map.isIdentity())
    return ScalarFunction::Leaf{operand.get(), false};
  if (map.getNumResults() == 1 && map.getNumDims() > 1 &&
      map.isFunctionOfDim(last) && map.isProjectedPermutation())
    return ScalarFunction::Leaf{operand.get(), true};
  return failure();
}

namespace {

/// Max depth of the recursion: the chains of operations in a file may be
/// arbitrarily long.
constexpr unsigned kMostDepth = 5000;

/// Evaluates a scalar from its definition: `leaf` and `operation` return the
/// value of an operand and of an operation. of() returns none if an operand is
/// indexed in another way, or the definition is too deep.
template <typename T> struct Walk {
  llvm::function_ref<std::optional<T>(const ScalarFunction::Leaf &)> leaf;
  llvm::function_ref<std::optional<T>(Operation *, ArrayRef<T>)> operation;
  DenseMap<Value, std::optional<T>> known = DenseMap<Value, std::optional<T>>();
  unsigned depth = 0; ///< of nested calls of of()

  std::optional<T> of(Value scalar) {
    if (auto found = known.find(scalar); found != known.end())
      return found->second;
    if (depth == kMostDepth)
      return std::nullopt;
    llvm::SaveAndRestore deeper(depth, depth + 1);
    std::optional<T> made = make(scalar);
    known[scalar] = made;
    return made;
  }

private:
  std::optional<T> make(Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    if (!argument) {
      SmallVector<T> operands;
      for (Value operand : scalar.getDefiningOp()->getOperands()) {
        std::optional<T> made = of(operand);
        if (!made)
          return std::nullopt;
        operands.push_back(*made);
      }
      return operation(scalar.getDefiningOp(), operands);
    }
    auto op = dyn_cast<linalg::GenericOp>(argument.getOwner()->getParentOp());
    if (!op)
      return std::nullopt;
    auto found = leafOf(op->getOpOperand(argument.getArgNumber()));
    if (failed(found))
      return std::nullopt;
    linalg::GenericOp maker = elementwise(found->array);
    if (maker && !found->isRow)
      return of(maker.getBody()->getTerminator()->getOperand(0));
    return leaf(*found);
  }
};

} // namespace

FailureOr<ScalarFunction> ScalarFunction::get(linalg::GenericOp op) {
  if (op->getNumResults() != 1 || elementwise(op->getResult(0)) != op)
    return failure();
  ScalarFunction function;
  function.result = op.getBody()->getTerminator()->getOperand(0);
  auto leaf = [&](const Leaf &leaf) {
    if (!llvm::is_contained(function.list, leaf))
      function.list.push_back(leaf);
    return std::optional(true);
  };
  auto operation = [](Operation *, ArrayRef<bool>) {
    return std::optional(true);
  };
  if (!Walk<bool>{leaf, operation}.of(function.result))
    return failure();
  return function;
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// The value of a constant; the exact one if it is a rounded constant of GELU.
static double valueOf(FloatAttr constant) {
  double value = constant.getValueAsDouble();
  if (constant.getType().getIntOrFloatBitWidth() >= 32)
    return value;
  for (double known : {kOuter, kCubic, 3 * kCubic}) {
    APFloat rounded(known);
    bool loses;
    rounded.convert(constant.getValue().getSemantics(),
                    APFloat::rmNearestTiesToEven, &loses);
    if (rounded == constant.getValue())
      return known;
  }
  return value;
}

bool ScalarFunction::is(
    ArrayRef<Leaf> leaves,
    llvm::function_ref<Formula(Formulas &, ArrayRef<Formula>)> wanted) const {
  if (leaves.size() != list.size() ||
      !llvm::all_of(list, [&](const Leaf &leaf) {
        return llvm::is_contained(leaves, leaf);
      }))
    return false;
  Formulas formulas;
  SmallVector<Formula> arguments;
  for (size_t i = 0; i < leaves.size(); ++i)
    arguments.push_back(formulas.leaf(int64_t(i)));
  auto leaf = [&](const Leaf &leaf) {
    return std::optional(
        arguments[size_t(llvm::find(leaves, leaf) - leaves.begin())]);
  };
  auto operation = [&](Operation *inner, ArrayRef<Formula> of) {
    FloatAttr constant;
    return std::optional(matchPattern(inner, m_Constant(&constant))
                             ? Formula(valueOf(constant))
                             : formulas.apply(inner, of));
  };
  return *Walk<Formula>{leaf, operation}.of(result) ==
         wanted(formulas, arguments);
}

Value ScalarFunction::write(
    OpBuilder &builder, llvm::function_ref<Value(const Leaf &)> leaf) const {
  auto given = [&](const Leaf &found) { return std::optional(leaf(found)); };
  auto operation = [&](Operation *inner, ArrayRef<Value> of) {
    if (inner->hasTrait<OpTrait::ConstantLike>())
      return std::optional<Value>(inner->getResult(0));
    if (isa<arith::TruncFOp, arith::ExtFOp>(inner) &&
        of[0].getType() == inner->getResult(0).getType())
      return std::optional<Value>(of[0]);
    IRMapping mapping;
    for (auto [from, to] : llvm::zip_equal(inner->getOperands(), of))
      mapping.map(from, to);
    return std::optional<Value>(builder.clone(*inner, mapping)->getResult(0));
  };
  return *Walk<Value>{given, operation}.of(result);
}

} // namespace stagewright::device
