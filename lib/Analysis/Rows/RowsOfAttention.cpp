//===- RowsOfAttention.cpp - how attention depends on rows ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention can run on a slice of the rows if the rows are one of its batch
// dimensions, since queries then never read keys of other rows. Operands that
// all rows share (a mask, keys of all queries) stay whole. The gradient of such
// an operand is a sum over rows inside the operation; a layer that computes one
// is not sliced.
//
//===----------------------------------------------------------------------===//

#include "RowTracker.h"

namespace stagewright::pipeline {

/// The last dimensions are query, key, width and value width, after the batch.
static constexpr unsigned kOwnDimensions = 4;

bool RowTracker::visitAttention(Operation &op) {
  if (!isa<AttentionOp, AttentionGradientOp, AttentionQueryGradientOp,
           AttentionKeyGradientOp>(op))
    return false;
  auto maps = op.getAttrOfType<ArrayAttr>("indexing_maps");
  auto mapOf = [&](unsigned operand) {
    return cast<AffineMapAttr>(maps[operand]).getValue();
  };
  std::optional<unsigned> loop;
  RowKind rowsThere;
  for (OpOperand &operand : op.getOpOperands()) {
    RowKind kind = kindOf(operand.get());
    if (kind.kind == RowKind::Whole)
      continue;
    AffineMap map = mapOf(operand.getOperandNumber());
    unsigned dim = kind.isRows() ? map.getDimPosition(kind.dim) : 0;
    if (!kind.isRows() || dim + kOwnDimensions >= map.getNumDims() ||
        (loop && (*loop != dim || rowsThere.perSample != kind.perSample))) {
      mix(&op, "its queries meet keys of other rows of the batch");
      return true;
    }
    loop = dim;
    rowsThere = kind;
  }
  if (!loop)
    return true;
  auto rowsOf = [&](unsigned operand) -> std::optional<RowKind> {
    AffineMap map = mapOf(operand);
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      if (map.getDimPosition(i) == *loop)
        return RowKind{RowKind::Rows, i, rowsThere.perSample};
    return std::nullopt;
  };
  unsigned firstOutput = op.getNumOperands() - op.getNumResults();
  for (OpResult result : op.getResults())
    if (!rowsOf(firstOutput + result.getResultNumber())) {
      mix(&op, "it sums a gradient over the rows of the batch");
      return true;
    }
  for (OpOperand &operand : op.getOpOperands())
    if (auto kind = rowsOf(operand.getOperandNumber());
        kind && kindOf(operand.get()).kind == RowKind::Whole)
      want(operand, *kind);
  for (OpResult result : op.getResults())
    set(result, *rowsOf(firstOutput + result.getResultNumber()));
  return true;
}

} // namespace stagewright::pipeline
