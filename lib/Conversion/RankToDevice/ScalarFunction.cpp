//===- ScalarFunction.cpp - elementwise operations as functions -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarFunction.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Analysis/ElementTrace.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
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
  if (!op || !parallelOf(array) || op->getNumResults() != 1 ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() ||
      !op.getRegionOutputArgs()[0].use_empty())
    return {};
  return op;
}

namespace {

/// Evaluates an elementwise operation: `leaf` and `operation` return the values
/// of a leaf and of an operation.
template <typename T> class Evaluation : ElementTrace<std::optional<T>, int> {
public:
  using Element = std::optional<T>;

  Evaluation(llvm::function_ref<T(const ScalarFunction::Leaf &)> leaf,
             llvm::function_ref<T(Operation *, ArrayRef<T>)> operation)
      : leaf(leaf), operation(operation) {}

  /// The only result of `op`; none if an operand is indexed neither as the
  /// result nor as a row, or the definition is too long.
  Element of(linalg::GenericOp op) {
    loops = llvm::to_vector(llvm::seq<int>(0, int(op.getNumLoops())));
    this->begin();
    return this->inBody(cast<linalg::LinalgOp>(*op),
                        op.getBody()->getTerminator()->getOperand(0), loops);
  }

private:
  std::optional<Element> given(linalg::LinalgOp op, Value value,
                               ArrayRef<int> place) override {
    if (op)
      return std::nullopt;
    if (!isa<ShapedType>(value.getType())) {
      Operation *maker = value.getDefiningOp();
      return maker && maker->hasTrait<OpTrait::ConstantLike>()
                 ? std::optional(Element(operation(maker, {})))
                 : std::nullopt;
    }
    bool isRow = place.size() == 1 && loops.size() > 1;
    if (isRow ? place[0] != loops.back() : place != ArrayRef(loops))
      return Element();
    if (!isRow && elementwise(value))
      return std::nullopt;
    return leaf({value, isRow});
  }

  Element apply(Operation *op, ArrayRef<Element> operands) override {
    SmallVector<T> values;
    for (const Element &operand : operands) {
      if (!operand)
        return std::nullopt;
      values.push_back(*operand);
    }
    return operation(op, values);
  }

  Element unknown() const override { return std::nullopt; }
  int zero() const override { return -1; }

  llvm::function_ref<T(const ScalarFunction::Leaf &)> leaf;
  llvm::function_ref<T(Operation *, ArrayRef<T>)> operation;
  SmallVector<int> loops; ///< of the operation
};

} // namespace

FailureOr<ScalarFunction> ScalarFunction::get(linalg::GenericOp op) {
  if (op->getNumResults() != 1 || elementwise(op->getResult(0)) != op)
    return failure();
  ScalarFunction function;
  function.op = op;
  auto leaf = [&](const Leaf &leaf) {
    if (!llvm::is_contained(function.list, leaf))
      function.list.push_back(leaf);
    return true;
  };
  auto operation = [](Operation *, ArrayRef<bool>) { return true; };
  if (!Evaluation<bool>(leaf, operation).of(op))
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
    return arguments[size_t(llvm::find(leaves, leaf) - leaves.begin())];
  };
  auto operation = [&](Operation *inner, ArrayRef<Formula> of) {
    FloatAttr constant;
    return matchPattern(inner, m_Constant(&constant))
               ? Formula(valueOf(constant))
               : formulas.apply(inner, of);
  };
  return *Evaluation<Formula>(leaf, operation).of(op) ==
         wanted(formulas, arguments);
}

Value ScalarFunction::write(
    OpBuilder &builder, llvm::function_ref<Value(const Leaf &)> leaf) const {
  auto operation = [&](Operation *inner, ArrayRef<Value> of) -> Value {
    if (inner->hasTrait<OpTrait::ConstantLike>())
      return inner->getResult(0);
    if (isa<arith::TruncFOp, arith::ExtFOp>(inner) &&
        of[0].getType() == inner->getResult(0).getType())
      return of[0];
    IRMapping mapping;
    for (auto [from, to] : llvm::zip_equal(inner->getOperands(), of))
      mapping.map(from, to);
    return builder.clone(*inner, mapping)->getResult(0);
  };
  return *Evaluation<Value>(leaf, operation).of(op);
}

} // namespace stagewright::device
