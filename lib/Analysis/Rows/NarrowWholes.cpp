//===- NarrowWholes.cpp - slice whole values that are used by row ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTracker.h"

namespace stagewright::pipeline {

/// The kind of the slice of `value` that all its uses need, if it is the same.
static std::optional<RowKind> wantedBy(const BodyRows &rows, Value value) {
  std::optional<RowKind> kind;
  for (OpOperand &use : value.getUses()) {
    auto found = rows.wanted.find(&use);
    if (found == rows.wanted.end() || (kind && *kind != found->second))
      return std::nullopt;
    kind = found->second;
  }
  return kind;
}

/// Whether `op` can compute the slice `kind` of its result from slices of its
/// operands; if so, records that these are wanted.
static bool narrow(linalg::LinalgOp op, RowKind kind, BodyRows &rows) {
  if (op.getNumDpsInits() != 1 || rows.loops.contains(op))
    return false;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  auto loop = dyn_cast<AffineDimExpr>(map.getResult(kind.dim));
  if (!loop || op.getIteratorTypesArray()[loop.getPosition()] !=
                   utils::IteratorType::parallel)
    return false;
  SmallVector<std::pair<OpOperand *, RowKind>> wanted;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap of = op.getMatchingIndexingMap(&operand);
    int64_t places = 0;
    for (unsigned i = 0; i < of.getNumResults(); ++i) {
      if (!of.getResult(i).isFunctionOfDim(loop.getPosition()))
        continue;
      if (of.getResult(i) != loop || ++places > 1)
        return false;
      wanted.push_back({&operand, {RowKind::Rows, i, kind.perSample}});
    }
  }
  for (auto [operand, as] : wanted)
    rows.wanted[operand] = as;
  rows.loops[op] = {loop.getPosition(), kind.perSample};
  return true;
}

void narrowWholes(func::FuncOp body, BodyRows &rows) {
  for (Operation &op : llvm::reverse(body.getBody().front())) {
    if (op.getNumResults() != 1 ||
        !isa<RankedTensorType>(op.getResultTypes()[0]))
      continue;
    Value result = op.getResult(0);
    if (rows.kindOf(result).kind != RowKind::Whole)
      continue;
    std::optional<RowKind> kind = wantedBy(rows, result);
    if (!kind)
      continue;
    bool made = isa<tensor::EmptyOp>(op);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      made = isa<SplatElementsAttr>(constant.getValue());
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      made = narrow(structured, *kind, rows);
    if (made)
      rows.kinds[result] = *kind;
  }
}

} // namespace stagewright::pipeline
