//===- ShardBoxes.cpp - from one layout to another ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace stagewright::pipeline {

/// Sums of fewer elements are for every shard: a message less counts for more.
static constexpr int64_t kLeastScattered = 16;

/// The level that a value of `number` is on behind a box.
static int64_t crossed(int64_t number, bool backward) {
  return backward ? std::max<int64_t>(number - 1, 0)
                  : std::max<int64_t>(number, 1) + 1;
}

Sharder::Level Sharder::levelOf(Value old, bool isWhole) {
  Entry &entry = entryOf(old);
  Level level = entry.level;
  if (!isWhole || entry.layout.kind == Layout::Whole || entry.shared)
    return level;
  for (int64_t boxes = boxesByParts(old) ? 2 : 1; boxes > 0; --boxes)
    level.number = crossed(level.number, level.backward);
  return level;
}

/// What two shards have of a value, together.
static Value joinTwo(OpBuilder &builder, Location loc, Layout layout, Value a,
                     Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  if (layout.kind == Layout::Largest)
    return isFloat ? Value(arith::MaximumFOp::create(builder, loc, a, b))
                   : Value(arith::MaxSIOp::create(builder, loc, a, b));
  return isFloat ? Value(arith::AddFOp::create(builder, loc, a, b))
                 : Value(arith::AddIOp::create(builder, loc, a, b));
}

std::optional<Layout> Sharder::scatteredLayout(Value old) {
  Entry &entry = entryOf(old);
  auto type = dyn_cast<RankedTensorType>(old.getType());
  // Parts in a backward are joined on a level below, which there has to be.
  constexpr int64_t kLeastLevel = 2;
  if (!graph || !entry.isProduct || entry.layout.kind != Layout::Partial ||
      !entry.boxed.empty() || !type || !type.hasStaticShape() ||
      type.getNumElements() < kLeastScattered ||
      (entry.level.backward && entry.level.number < kLeastLevel))
    return std::nullopt;
  // Along rows, so what looks along the last dimension finds all of it.
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim)
    if (fits(type, Layout::split(dim), ways))
      return Layout::split(dim);
  return std::nullopt;
}

bool Sharder::boxesByParts(Value old) {
  // Two shards send each other as much either way, and wait once, not twice.
  return ways > 2 && scatteredLayout(old);
}

void Sharder::scatter(Value old, Layout layout) {
  Level before = here;
  Entry &entry = entryOf(old);
  here = entry.level;
  here.number = crossed(here.number, here.backward);
  SmallVector<Value> sums;
  for (int64_t shard = 0; shard < ways; ++shard) {
    Level sender = std::exchange(here, entry.level);
    SmallVector<Value> parts;
    for (int64_t from = 0; from < ways; ++from)
      parts.push_back(takePart(builder, at(old.getDefiningOp(), from),
                               entry.copies[from], layout, ways, shard));
    here = sender;
    Location loc = at(old.getDefiningOp(), shard);
    Value sum = parts.front();
    for (Value part : ArrayRef(parts).drop_front())
      sum = joinTwo(builder, loc, entry.layout, sum, part);
    mark(*sum.getDefiningOp());
    sums.push_back(sum);
  }
  ++numScatters;
  entry.layout = layout;
  entry.copies = std::move(sums);
  entry.level = here;
  entry.scattered = true;
  here = before;
}

void Sharder::box(Value old) {
  if (boxesByParts(old))
    scatter(old, *scatteredLayout(old));
  Level before = here;
  here = levelOf(old, /*isWhole=*/true);
  Entry &entry = entryOf(old);
  SmallVector<Value> boxed;
  for (int64_t shard = 0; shard < (graph ? ways : 1); ++shard) {
    Location loc = at(old.getDefiningOp(), shard);
    if (entry.layout.isSplit()) {
      boxed.push_back(joinParts(builder, loc,
                                cast<RankedTensorType>(old.getType()),
                                entry.copies, entry.layout));
      continue;
    }
    // In the same order in every shard, so all have the same bits.
    Value sum = entry.copies[0];
    for (Value part : ArrayRef(entry.copies).drop_front())
      sum = joinTwo(builder, loc, entry.layout, sum, part);
    boxed.push_back(sum);
  }
  ++(entry.layout.isSplit() ? numJoins : numSums);
  for (Value value : boxed)
    mark(*value.getDefiningOp());
  boxed.resize(ways, boxed.front());
  entry.boxed = std::move(boxed);
  here = before;
}

SmallVector<Value> *Sharder::exchanged(Value old, Layout layout) {
  Entry &entry = entryOf(old);
  auto type = cast<RankedTensorType>(old.getType());
  if (!graph || !entry.boxed.empty() || !entry.layout.isSplit() ||
      !layout.isSplit() || entry.layout.dim == layout.dim ||
      !fits(type, layout, ways))
    return nullptr;
  for (auto &[other, parts] : entry.others)
    if (other == layout)
      return &parts;
  Level before = here, after = levelOf(old, /*isWhole=*/true);
  RankedTensorType part = localType(type, layout, ways);
  SmallVector<Value> made;
  for (int64_t shard = 0; shard < ways; ++shard) {
    here = entry.level;
    SmallVector<Value> pieces;
    for (int64_t from = 0; from < ways; ++from)
      pieces.push_back(takePart(builder, at(old.getDefiningOp(), from),
                                entry.copies[from], layout, ways, shard));
    here = after;
    made.push_back(joinParts(builder, at(old.getDefiningOp(), shard), part,
                             pieces, entry.layout));
    mark(*made.back().getDefiningOp());
  }
  ++numExchanges;
  here = before;
  return &entry.others.emplace_back(layout, std::move(made)).second;
}

Value Sharder::whole(Value old, int64_t shard) {
  if (entryOf(old).layout.kind == Layout::Whole)
    return entryOf(old).copies[shard];
  if (entryOf(old).boxed.empty())
    box(old);
  return entryOf(old).boxed[shard];
}

Value Sharder::in(Value old, Layout layout, int64_t shard) {
  if (layoutOf(old) == layout)
    return entryOf(old).copies[shard];
  if (SmallVector<Value> *parts = exchanged(old, layout))
    return (*parts)[shard];
  Value all = whole(old, shard);
  if (!layout.isSplit())
    return all;
  if (Value made = makePart(old, layout, shard))
    return made;
  return takePart(builder, at(old.getDefiningOp(), shard), all, layout, ways,
                  shard);
}

} // namespace stagewright::pipeline
