//===- ElementFormulas.cpp - the formula of a tensor's element ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementFormulas.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/Support/SaveAndRestore.h"

namespace stagewright::pipeline {

/// Max number of values evaluated for one element.
constexpr unsigned kMostSteps = 20000;
/// Max depth of nested calls in one evaluation: a file may have chains of
/// operations of any length.
constexpr unsigned kMostDepth = 2000;

linalg::LinalgOp parallelOf(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || isa<linalg::FillOp>(op) || op.getNumReductionLoops() != 0 ||
      !op.hasPureTensorSemantics())
    return {};
  unsigned result = cast<OpResult>(value).getResultNumber();
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  return map.isPermutation() ? op : linalg::LinalgOp();
}

std::optional<Axes> reshapeAxes(ArrayRef<int> axes, ArrayRef<int64_t> from,
                                ArrayRef<int64_t> to) {
  SmallVector<std::pair<int64_t, int>> wide;
  for (auto [extent, dim] : llvm::zip_equal(from, axes))
    if (extent != 1)
      wide.push_back({extent, dim});
  Axes reshaped;
  size_t next = 0;
  for (int64_t extent : to) {
    if (extent == 1) {
      reshaped.push_back(-1);
      continue;
    }
    if (next == wide.size() || wide[next].first != extent)
      return std::nullopt;
    reshaped.push_back(wide[next++].second);
  }
  return next == wide.size() ? std::optional(reshaped) : std::nullopt;
}

/// The value of all elements of a constant.
static Formula valueOf(Attribute attribute) {
  if (auto elements = dyn_cast<SplatElementsAttr>(attribute))
    attribute = elements.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (!number || number.getValue().getSignificantBits() > 53)
    return Formula::unknown(); // a double may not store it
  return number.getType().isInteger(1)
             ? double(number.getValue().getBoolValue())
             : double(number.getValue().getSExtValue());
}

Formula ElementFormulas::at(Value value, ArrayRef<int> place) {
  steps = kMostSteps;
  return element(value, place);
}

Formula ElementFormulas::element(Value value, ArrayRef<int> place) {
  if (steps == 0 || depth == kMostDepth)
    return Formula::unknown();
  --steps;
  llvm::SaveAndRestore deeper(depth, depth + 1);
  if (auto leaf = leaves.find(value); leaf != leaves.end())
    return leaf->second(place);
  Operation *op = value.getDefiningOp();
  if (!op)
    return Formula::unknown();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (condition && type && type.getElementType().isInteger(1))
    if (std::optional<bool> holds = condition({}, value, place))
      return *holds ? 1 : 0;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return valueOf(constant);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return element(fill.getInputs()[0], {});
  if (linalg::LinalgOp op = parallelOf(value)) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
    Axes loops(map.getNumDims());
    for (auto [i, index] : llvm::enumerate(place))
      loops[map.getDimPosition(unsigned(i))] = index;
    return continueInBody(
        op, op.getBlock()->getTerminator()->getOperand(result), loops);
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    Value from = op->getOperand(0);
    auto before =
        reshapeAxes(place, type.getShape(),
                    cast<RankedTensorType>(from.getType()).getShape());
    return before ? element(from, *before) : Formula::unknown();
  }
  if (isa<tensor::CastOp>(op))
    return element(op->getOperand(0), place);
  if (!type || !OpTrait::hasElementwiseMappableTraits(op) ||
      op->getNumResults() != 1)
    return Formula::unknown();
  SmallVector<Formula> operands;
  for (Value operand : op->getOperands())
    operands.push_back(element(operand, isa<RankedTensorType>(operand.getType())
                                            ? place
                                            : ArrayRef<int>()));
  return formulas.apply(op, operands);
}

Formula ElementFormulas::inBody(linalg::LinalgOp op, Value value,
                                ArrayRef<int> loops) {
  steps = kMostSteps;
  return continueInBody(op, value, loops);
}

Formula ElementFormulas::continueInBody(linalg::LinalgOp op, Value value,
                                        ArrayRef<int> loops) {
  Known known;
  return body(op, value, loops, known);
}

/// The indices of the element of `operand` that `op` reads at indices `loops`.
static std::optional<Axes> placeOf(linalg::LinalgOp op, OpOperand &operand,
                                   ArrayRef<int> loops) {
  Axes place;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim && expr != getAffineConstantExpr(0, expr.getContext()))
      return std::nullopt;
    place.push_back(dim ? loops[dim.getPosition()] : -1);
  }
  return place;
}

Formula ElementFormulas::body(linalg::LinalgOp op, Value value,
                              ArrayRef<int> loops, Known &known) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  if (depth == kMostDepth)
    return Formula::unknown();
  llvm::SaveAndRestore deeper(depth, depth + 1);
  Formula made = makeInBody(op, value, loops, known);
  known[value] = made;
  return made;
}

Formula ElementFormulas::makeInBody(linalg::LinalgOp op, Value value,
                                    ArrayRef<int> loops, Known &known) {
  if (condition && value.getType().isInteger(1))
    if (std::optional<bool> holds = condition(op, value, loops))
      return *holds ? 1 : 0;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    std::optional<Axes> place = placeOf(op, operand, loops);
    return place && !op.isDpsInit(&operand) ? element(operand.get(), *place)
                                            : Formula::unknown();
  }
  Operation *inner = value.getDefiningOp();
  if (!inner || inner->getBlock() != op.getBlock() ||
      inner->hasTrait<OpTrait::ConstantLike>())
    return isa<ShapedType>(value.getType()) ? Formula::unknown()
                                            : element(value, {});
  SmallVector<Formula> operands;
  for (Value operand : inner->getOperands())
    operands.push_back(body(op, operand, loops, known));
  return formulas.apply(inner, operands);
}

} // namespace stagewright::pipeline
