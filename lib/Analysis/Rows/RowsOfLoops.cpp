//===- RowsOfLoops.cpp - rows through loops and conditionals --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTracker.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace stagewright::pipeline {

/// If `use` is an index or offset into a tensor: the tensor and dimension.
static std::pair<Value, int64_t> positionOf(OpOperand &use) {
  Operation *op = use.getOwner();
  auto inSlice = [&](auto slice, Value of) -> std::pair<Value, int64_t> {
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets()))
      if (dyn_cast<Value>(offset) == use.get())
        return {of, int64_t(dim)};
    return {};
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return {extract.getTensor(), int64_t(use.getOperandNumber()) - 1};
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    if (use.getOperandNumber() >= 2)
      return {insert.getDest(), int64_t(use.getOperandNumber()) - 2};
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return inSlice(slice, slice.getSource());
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return inSlice(slice, slice.getDest());
  return {};
}

bool isPositionAmongRows(const BodyRows &rows, OpOperand &use) {
  auto [of, dim] = positionOf(use);
  if (!of)
    return false;
  RowKind kind = rows.kindOf(of);
  return kind.isRows() && kind.dim == dim;
}

/// Rows per sample if `op` loops over the rows of a tensor that it indexes.
std::optional<int64_t> RowTracker::rowsPerSample(scf::ForOp op) {
  std::optional<int64_t> low = getConstantIntValue(op.getLowerBound());
  std::optional<int64_t> high = getConstantIntValue(op.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(op.getStep());
  if (low != 0 || step != 1 || !high || *high % samples != 0)
    return std::nullopt;
  for (OpOperand &use : op.getInductionVar().getUses())
    if (isPositionAmongRows(rows, use) &&
        kindOf(positionOf(use).first).perSample == *high / samples)
      return *high / samples;
  return std::nullopt;
}

/// Visits the body with iteration arguments of the kinds `carried`. Returns
/// whether it yields values of these kinds and mixes no rows.
bool RowTracker::tryFor(scf::ForOp op, ArrayRef<RowKind> carried) {
  for (auto [argument, kind] : llvm::zip(op.getRegionIterArgs(), carried))
    set(argument, kind);
  std::optional<RowMix> before = std::exchange(rows.mix, std::nullopt);
  bool overRows = rows.loops.contains(op);
  loopsAround += overRows;
  for (Operation &inner : op.getBody()->without_terminator())
    visit(inner);
  loopsAround -= overRows;
  bool stable = !rows.mix;
  for (auto [yielded, kind] : llvm::zip(op.getYieldedValues(), carried))
    stable &= kindOf(yielded) == kind;
  if (before)
    rows.mix = before;
  return stable;
}

void RowTracker::visitFor(scf::ForOp op) {
  for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()})
    if (kindOf(bound).kind != RowKind::Whole)
      return mix(op, "how often it runs depends on rows of the batch");
  rows.loops.erase(op);
  std::optional<int64_t> perSample = rowsPerSample(op);
  if (perSample && loopsAround > 0)
    return mix(op, "every row of the batch is combined with every other");
  if (perSample)
    rows.loops[op] = {0, *perSample};
  set(op.getInductionVar(), perSample ? RowKind{RowKind::Row} : RowKind());

  // First assume that each value that starts at zero is a sum.
  SmallVector<RowKind> initial, summing;
  for (Value init : op.getInitArgs()) {
    RowKind kind = kindOf(init);
    initial.push_back(kind);
    bool starts = isZero(init) || kind.kind == RowKind::Partial;
    if (starts)
      kind = perSample ? RowKind{RowKind::Sum, nextSum++}
                       : RowKind{RowKind::Partial};
    summing.push_back(kind);
  }
  BodyRows saved = rows;
  SmallVector<RowKind> carried = summing;
  if (!tryFor(op, carried)) {
    // Else start with the kinds of the initial values, and iterate until the
    // kinds do not change.
    rows = saved;
    carried = initial;
    for (size_t turn = 0; !tryFor(op, carried); ++turn) {
      bool changed = false;
      for (auto [yielded, kind] : llvm::zip(op.getYieldedValues(), carried)) {
        RowKind made = kindOf(yielded);
        if (made != kind && kind.kind == RowKind::Whole) {
          kind = made;
          changed = true;
        }
      }
      if (rows.mix && !saved.mix && !changed)
        return mix(op, "");
      if (!changed || turn > carried.size())
        return mix(
            op, "a value that it carries depends on rows of the batch in one "
                "iteration and not in the next");
      rows = saved;
    }
  }
  // A carried value of kind Row passes data from one row to the next.
  if (perSample && llvm::any_of(carried, [](const RowKind &kind) {
        return kind.kind == RowKind::Row;
      }))
    return mix(op, "a value goes from one row of the batch to the next");
  for (auto [operand, result, init, kind] :
       llvm::zip(op.getInitArgsMutable(), op.getResults(), initial, carried)) {
    if (kind.isRows() && init.kind == RowKind::Whole)
      want(operand, kind);
    else if (kind.kind == RowKind::Sum)
      kind = init.kind == RowKind::Sum ? init : RowKind{RowKind::Partial};
    else if (kind.kind == RowKind::Partial && init.kind == RowKind::Whole &&
             !isZero(operand.get()))
      return mix(op,
                 "it adds to a sum over the rows of the batch that does not "
                 "start at zero");
    set(result, kind);
  }
}

void RowTracker::visitIf(scf::IfOp op) {
  RowKind condition = kindOf(op.getCondition());
  for (Region *region : op.getRegions())
    if (!region->empty())
      visit(region->front());
  if (condition.kind != RowKind::Whole && condition.kind != RowKind::Row)
    return mix(op, "its condition is a sum over the rows of the batch");
  for (OpResult result : op.getResults()) {
    unsigned number = result.getResultNumber();
    OpOperand &yes = op.thenYield()->getOpOperand(number);
    OpOperand &no = op.elseYield()->getOpOperand(number);
    RowKind a = kindOf(yes.get()), b = kindOf(no.get()), kind = a;
    if (a != b) {
      bool sums = (a.kind == RowKind::Partial && isZero(no.get())) ||
                  (b.kind == RowKind::Partial && isZero(yes.get()));
      auto isRow = [](RowKind it) {
        return it.kind == RowKind::Row || it.kind == RowKind::Whole;
      };
      if (!sums && !(isRow(a) && isRow(b)))
        return mix(op, "the results of its branches depend on the rows of the "
                       "batch in different ways");
      kind = sums ? RowKind{RowKind::Partial} : RowKind{RowKind::Row};
    }
    if (condition.kind == RowKind::Row) {
      if (kind.isRows() || kind.kind == RowKind::Partial)
        return mix(op, "a condition computed from one row of the batch selects "
                       "values of other rows");
      if (kind.kind == RowKind::Whole)
        kind = condition;
    }
    set(result, kind);
  }
}

} // namespace stagewright::pipeline
