//===- ElementFormulas.cpp - the formula of a tensor's element ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementFormulas.h"
#include "mlir/IR/Matchers.h"

namespace stagewright::pipeline {

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

std::optional<Formula> ElementFormulas::given(linalg::LinalgOp op, Value value,
                                              ArrayRef<int> place) {
  bool isTensor = isa<RankedTensorType>(value.getType());
  if (auto leaf = leaves.find(value); !op && leaf != leaves.end())
    return leaf->second(place);
  if (condition && getElementTypeOrSelf(value.getType()).isInteger(1) &&
      (op || (isTensor && value.getDefiningOp())))
    if (std::optional<bool> holds = condition(op, value, place))
      return *holds ? 1 : 0;
  Attribute constant;
  return !op && matchPattern(value, m_Constant(&constant))
             ? std::optional(valueOf(constant))
             : std::nullopt;
}

std::optional<Axes> ElementFormulas::beforeReshape(Operation *op,
                                                   ArrayRef<int> place) {
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  return reshapeAxes(place, shapeOf(op->getResult(0)),
                     shapeOf(op->getOperand(0)));
}

} // namespace stagewright::pipeline
