//===- RowsOfTensors.cpp - rows through operations on tensors -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowTracker.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::pipeline {

static const char *const kSomeRows = "it takes some of the rows of the batch";

bool RowTracker::visitTensorOp(Operation &op) {
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case<tensor::EmptyOp>([](auto) { return true; })
      .Case<tensor::CastOp>([&](tensor::CastOp it) {
        set(it, kindOf(it.getSource()));
        return true;
      })
      .Case<tensor::ExpandShapeOp>(
          [&](auto it) { return visitExpand(it), true; })
      .Case<tensor::CollapseShapeOp>(
          [&](auto it) { return visitCollapse(it), true; })
      .Case<tensor::ExtractOp>([&](auto it) { return visitExtract(it), true; })
      .Case<tensor::InsertOp>([&](auto it) { return visitInsert(it), true; })
      .Case<tensor::ExtractSliceOp>(
          [&](auto it) { return visitExtractSlice(it), true; })
      .Case<tensor::InsertSliceOp>(
          [&](auto it) { return visitInsertSlice(it), true; })
      .Case<tensor::PadOp>([&](auto it) { return visitPad(it), true; })
      .Case<tensor::ConcatOp>([&](auto it) { return visitConcat(it), true; })
      .Case<tensor::FromElementsOp>([&](tensor::FromElementsOp it) {
        RowKind all = kindOf(it.getElements().front());
        for (Value element : it.getElements())
          if (kindOf(element) != all)
            all = {RowKind::Mixed};
        if (all.kind == RowKind::Mixed)
          mix(it, "its elements depend on the rows of the batch in different "
                  "ways");
        else
          set(it, all);
        return true;
      })
      .Default([](auto) { return false; });
}

/// The rows become the outermost new dimension whose extent is not 1.
void RowTracker::visitExpand(tensor::ExpandShapeOp op) {
  RowKind kind = kindOf(op.getSrc());
  if (!kind.isRows())
    return set(op, kind);
  auto type = cast<RankedTensorType>(op.getType());
  ReassociationIndices group = op.getReassociationIndices()[kind.dim];
  for (int64_t dim : group) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (std::optional<RowKind> found = rowsAt(type, dim))
      return set(op, *found);
    break;
  }
  mix(op,
      "it divides a dimension so that samples of the batch are not together");
}

void RowTracker::visitCollapse(tensor::CollapseShapeOp op) {
  RowKind kind = kindOf(op.getSrc());
  if (!kind.isRows())
    return set(op, kind);
  RankedTensorType type = op.getSrcType();
  for (auto [number, group] : llvm::enumerate(op.getReassociationIndices())) {
    if (!llvm::is_contained(group, kind.dim))
      continue;
    for (int64_t dim : group) {
      if (dim == kind.dim)
        break;
      if (type.getDimSize(dim) != 1)
        return mix(op, "it joins the rows of the batch with a dimension around "
                       "them");
    }
    if (std::optional<RowKind> found =
            rowsAt(cast<RankedTensorType>(op.getType()), number))
      return set(op, *found);
  }
  mix(op, kSomeRows);
}

/// The kind of an element or slice of a value of kind `of`, at indices of the
/// kinds `places`.
static RowKind lookUp(RowKind of, ArrayRef<RowKind> places) {
  RowKind place;
  for (const RowKind &kind : places) {
    if (kind.kind == RowKind::Row)
      place = kind;
    else if (kind.kind != RowKind::Whole)
      return {RowKind::Mixed};
  }
  if (of.kind == RowKind::Whole)
    return place;
  if (of.kind == RowKind::Partial && place.kind != RowKind::Whole)
    return {RowKind::Mixed};
  return of;
}

void RowTracker::visitExtract(tensor::ExtractOp op) {
  RowKind kind = kindOf(op.getTensor());
  SmallVector<RowKind> places;
  for (Value index : op.getIndices())
    places.push_back(kindOf(index));
  if (kind.isRows()) {
    if (!isRowNumber(op.getIndices()[kind.dim], kind.perSample))
      return mix(op, "rows of the batch are looked up");
    kind = {RowKind::Row};
  }
  kind = lookUp(kind, places);
  if (kind.kind == RowKind::Mixed)
    return mix(op, "a sum over the rows of the batch is looked up by a row");
  set(op, kind);
}

/// The kind of a value in which a part is replaced.
static RowKind putInto(RowKind part, bool partIsZero, RowKind whole,
                       bool wholeIsZero) {
  if (part == whole)
    return part;
  auto isPartial = [](RowKind kind) { return kind.kind == RowKind::Partial; };
  if ((isPartial(part) && wholeIsZero) || (isPartial(whole) && partIsZero))
    return {RowKind::Partial};
  auto isRow = [](RowKind kind) {
    return kind.kind == RowKind::Row || kind.kind == RowKind::Whole;
  };
  return isRow(part) && isRow(whole) ? RowKind{RowKind::Row}
                                     : RowKind{RowKind::Mixed};
}

void RowTracker::visitInsert(tensor::InsertOp op) {
  RowKind whole = kindOf(op.getDest()), part = kindOf(op.getScalar());
  SmallVector<RowKind> places;
  for (Value index : op.getIndices())
    places.push_back(kindOf(index));
  RowKind place = lookUp({}, places);
  RowKind kind;
  if (whole.isRows()) {
    bool own = isRowNumber(op.getIndices()[whole.dim], whole.perSample) &&
               putInto(part, false, {}, false).kind != RowKind::Mixed;
    kind = own ? whole : RowKind{RowKind::Mixed};
  } else {
    kind = putInto(part, isZero(op.getScalar()), whole, isZero(op.getDest()));
    if (place.kind == RowKind::Row && kind.kind == RowKind::Whole)
      kind = place;
    if (place.kind != RowKind::Whole && kind.kind == RowKind::Partial)
      kind = {RowKind::Mixed};
  }
  if (kind.kind == RowKind::Mixed || place.kind == RowKind::Mixed)
    return mix(op, "rows of the batch write to places that are not theirs");
  set(op, kind);
}

int64_t withoutDropped(const llvm::SmallBitVector &dropped, int64_t dim) {
  if (dropped.test(dim))
    return -1;
  int64_t at = 0;
  for (int64_t i = 0; i < dim; ++i)
    at += !dropped.test(i);
  return at;
}

/// Whether a slice of `type` has the whole dimension `dim`.
template <typename SliceOp>
static bool takesAll(SliceOp op, RankedTensorType type, int64_t dim) {
  return op.getStaticOffsets()[dim] == 0 && op.getStaticStrides()[dim] == 1 &&
         op.getStaticSizes()[dim] == type.getDimSize(dim);
}

void RowTracker::visitExtractSlice(tensor::ExtractSliceOp op) {
  RowKind kind = kindOf(op.getSource());
  SmallVector<RowKind> places;
  for (Value operand : op->getOperands().drop_front())
    places.push_back(kindOf(operand));
  if (kind.isRows()) {
    if (takesAll(op, op.getSourceType(), kind.dim)) {
      int64_t dim = withoutDropped(op.getDroppedDims(), kind.dim);
      if (dim < 0 || lookUp({}, places).kind != RowKind::Whole)
        return mix(op, kSomeRows);
      kind.dim = dim;
      return set(op, kind);
    }
    bool own = op.getStaticSizes()[kind.dim] == 1 &&
               isRowNumber(op.getMixedOffsets()[kind.dim], kind.perSample);
    if (!own)
      return mix(op, kSomeRows);
    kind = {RowKind::Row};
  }
  kind = lookUp(kind, places);
  if (kind.kind == RowKind::Mixed)
    return mix(op, "a sum over the rows of the batch is looked up by a row");
  set(op, kind);
}

void RowTracker::visitInsertSlice(tensor::InsertSliceOp op) {
  RowKind whole = kindOf(op.getDest()), part = kindOf(op.getSource());
  SmallVector<RowKind> places;
  for (Value operand : op->getOperands().drop_front(2))
    places.push_back(kindOf(operand));
  RowKind place = lookUp({}, places);
  if (place.kind == RowKind::Mixed)
    return mix(op, kSomeRows);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  RankedTensorType type = op.getDestType();
  if (part.isRows() && whole.kind == RowKind::Whole) {
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (withoutDropped(dropped, dim) == part.dim)
        whole = {RowKind::Rows, dim, part.perSample};
    want(op.getDestMutable(), whole);
  }
  if (whole.isRows()) {
    int64_t dim = withoutDropped(dropped, whole.dim);
    RowKind expected = {RowKind::Rows, dim, whole.perSample};
    bool all = takesAll(op, type, whole.dim) && dim >= 0;
    bool own = op.getStaticSizes()[whole.dim] == 1 && !part.isRows() &&
               isRowNumber(op.getMixedOffsets()[whole.dim], whole.perSample) &&
               putInto(part, false, {}, false).kind != RowKind::Mixed;
    bool fits = part == expected || part.kind == RowKind::Whole;
    if (!own && !(all && fits && place.kind == RowKind::Whole))
      return mix(op, "it writes over some of the rows of the batch");
    if (!own && part.kind == RowKind::Whole)
      want(op.getSourceMutable(), expected);
    return set(op, whole);
  }
  RowKind kind =
      putInto(part, isZero(op.getSource()), whole, isZero(op.getDest()));
  if (kind.kind == RowKind::Whole)
    kind = place;
  if (kind.kind == RowKind::Mixed ||
      (kind.kind == RowKind::Partial && place.kind != RowKind::Whole))
    return mix(op, "it writes rows of the batch beside other values");
  set(op, kind);
}

void RowTracker::visitPad(tensor::PadOp op) {
  RowKind kind = kindOf(op.getSource());
  Value padding = op.getConstantPaddingValue();
  bool known = padding && kindOf(padding).kind == RowKind::Whole;
  if (kind.isRows() && known && op.getStaticLow()[kind.dim] == 0 &&
      op.getStaticHigh()[kind.dim] == 0)
    return set(op, kind);
  if (kind.kind == RowKind::Whole && known)
    return;
  if (kind.kind == RowKind::Partial && known && isZero(padding))
    return set(op, kind);
  if (kind.kind == RowKind::Row && known)
    return set(op, kind);
  if (kind.kind == RowKind::Whole)
    return visitUnknown(*op);
  mix(op, "it pads rows of the batch, or a sum over them");
}

void RowTracker::visitConcat(tensor::ConcatOp op) {
  RowKind kind;
  for (Value input : op.getInputs())
    if (kindOf(input).kind != RowKind::Whole)
      kind = kindOf(input);
  for (OpOperand &input : op->getOpOperands()) {
    RowKind here = kindOf(input.get());
    bool fits = here == kind || here.kind == RowKind::Whole;
    if (kind.kind == RowKind::Partial && here.kind == RowKind::Whole)
      fits = isZero(input.get());
    if (!fits || (kind.isRows() && int64_t(op.getDim()) == kind.dim) ||
        kind.kind == RowKind::Sum)
      return mix(op, "it joins rows of the batch with others");
  }
  if (kind.isRows())
    for (OpOperand &input : op->getOpOperands())
      if (kindOf(input.get()).kind == RowKind::Whole)
        want(input, kind);
  set(op, kind);
}

} // namespace stagewright::pipeline
