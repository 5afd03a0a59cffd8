//===- RowsOfStructured.cpp - rows through linalg operations --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTracker.h"

namespace stagewright::pipeline {

/// The loop that indexes dimension `number` of the operand; none if another
/// expression does.
static std::optional<unsigned> loopAt(AffineMap map, unsigned number) {
  auto loop = dyn_cast<AffineDimExpr>(map.getResult(number));
  return loop ? std::optional(loop.getPosition()) : std::nullopt;
}

/// The loop over rows: the one that indexes the row dimension of every operand
/// with rows. None if no operand has rows, or if there is no such loop, which
/// is recorded as a mix.
std::optional<BodyRows::Loop> RowTracker::findLoop(linalg::LinalgOp op) {
  std::optional<BodyRows::Loop> loop;
  bool mixes = false;
  auto take = [&](std::optional<unsigned> number, int64_t perSample,
                  const char *reason) {
    if (mixes)
      return;
    mixes = !number ||
            (loop && (loop->number != *number || loop->perSample != perSample));
    if (mixes)
      return mix(op, number ? "every row of the batch is combined with every "
                              "other"
                            : reason);
    loop = BodyRows::Loop{*number, perSample};
  };
  for (OpOperand &operand : op->getOpOperands())
    if (RowKind kind = kindOf(operand.get()); kind.isRows())
      take(loopAt(op.getMatchingIndexingMap(&operand), kind.dim),
           kind.perSample,
           "rows of the batch are read at places that are computed");
  op.getBlock()->walk([&](tensor::ExtractOp extract) {
    RowKind kind = kindOf(extract.getTensor());
    if (!kind.isRows())
      return;
    auto index =
        extract.getIndices()[kind.dim].getDefiningOp<linalg::IndexOp>();
    bool own = index && index->getParentOfType<linalg::LinalgOp>() == op;
    take(own ? std::optional(unsigned(index.getDim())) : std::nullopt,
         kind.perSample, "rows of the batch are looked up");
  });
  return mixes ? std::nullopt : loop;
}

/// For each operand of kind Whole that `loop` indexes, records that a slice of
/// the batch needs only the same slice of the operand. Fails if `loop` indexes
/// an operand of another kind without rows (a sum over rows), or is part of a
/// computed index.
bool RowTracker::wantSlices(linalg::LinalgOp op, BodyRows::Loop loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (kindOf(operand.get()).isRows())
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (unsigned i = 0; i < map.getNumResults(); ++i) {
      if (!map.getResult(i).isFunctionOfDim(loop.number))
        continue;
      if (kindOf(operand.get()).kind != RowKind::Whole) {
        mix(op, "a sum over the rows of the batch is spread over its rows");
        return false;
      }
      if (!loopAt(map, i)) {
        mix(op, "rows of the batch are combined with places that are computed "
                "from their numbers");
        return false;
      }
      want(operand, {RowKind::Rows, i, loop.perSample});
    }
  }
  return true;
}

/// Sets the kinds of the body's arguments. If the operation reduces rows, an
/// initial value is a Sum if it is zero or a partial sum, else Mixed. If the
/// operation does not, a Whole initial value takes the kind of the terms that
/// are added to it.
void RowTracker::setScalars(linalg::LinalgOp op, bool reducesRows) {
  RowKind summand;
  for (OpOperand &operand : op->getOpOperands()) {
    RowKind kind = kindOf(operand.get());
    if (kind.isRows())
      kind = {RowKind::Row};
    bool isInit = op.isDpsInit(&operand);
    if (!isInit && kind.kind != RowKind::Whole)
      summand = kind;
    if (isInit && reducesRows) {
      bool starts = isZero(operand.get()) || kind.kind == RowKind::Partial;
      kind =
          starts ? RowKind{RowKind::Sum, nextSum++} : RowKind{RowKind::Mixed};
    } else if (isInit && kind.kind == RowKind::Whole &&
               (summand.kind == RowKind::Row ||
                (summand.kind == RowKind::Partial && isZero(operand.get())))) {
      kind = summand;
    }
    set(op.getMatchingBlockArgument(&operand), kind);
  }
}

void RowTracker::visitStructured(linalg::LinalgOp op) {
  std::optional<RowMix> before = std::exchange(rows.mix, std::nullopt);
  std::optional<BodyRows::Loop> loop = findLoop(op);
  bool mixed = rows.mix.has_value();
  rows.mix = before ? before : rows.mix;
  if (mixed || (loop && !wantSlices(op, *loop)))
    return;
  rows.loops.erase(op);
  if (loop) {
    if (loopsAround > 0)
      return mix(op, "every row of the batch is combined with every other");
    rows.loops[op] = *loop;
  }
  bool reduces = loop && op.getIteratorTypesArray()[loop->number] ==
                             utils::IteratorType::reduction;

  setScalars(op, reduces);
  loopsAround += loop.has_value();
  for (Operation &inner : op.getBlock()->without_terminator())
    visit(inner);
  loopsAround -= loop.has_value();
  for (OpResult result : op->getResults()) {
    OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
    RowKind flow = kindOf(
        op.getBlock()->getTerminator()->getOperand(result.getResultNumber()));
    set(result, {});
    if (reduces) {
      if (flow.kind == RowKind::Whole)
        continue;
      if (flow != kindOf(op.getMatchingBlockArgument(init)) ||
          flow.kind != RowKind::Sum)
        return mix(op,
                   "it reduces over the rows of the batch, and not by a sum "
                   "that starts at zero");
      set(result, {RowKind::Partial});
      continue;
    }
    if (flow.kind == RowKind::Mixed)
      return mix(op, "it mixes rows of the batch");
    if (!loop) {
      set(result, flow);
      continue;
    }
    AffineMap map = op.getMatchingIndexingMap(init);
    std::optional<unsigned> dim;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      if (loopAt(map, i) == loop->number)
        dim = i;
    if (!dim || flow.kind == RowKind::Partial || flow.kind == RowKind::Sum)
      return mix(op,
                 "a sum over the rows of the batch is spread over its rows");
    set(result, {RowKind::Rows, *dim, loop->perSample});
  }
}

} // namespace stagewright::pipeline
