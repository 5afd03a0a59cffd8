//===- ShardBoxes.cpp - sums, joins and exchanges between shards ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace stagewright::pipeline {

/// Min elements of a sum that is scattered. Smaller sums are made whole in
/// every shard: one message less saves more time.
static constexpr int64_t kLeastScattered = 16;

Sharder::Level Sharder::behindBox(Level level) const {
  int64_t number = level.backward ? std::max(level.number - 1, firstLevel())
                                  : std::max<int64_t>(level.number, 1) + 1;
  return {number, level.backward,
          level.backward && parts.contains({number, true})};
}

bool Sharder::canJoinAt(Level level) const {
  return !level.backward || level.number > behindBox(level).number;
}

Sharder::Level Sharder::levelOf(Value old, bool isWhole) {
  Entry &entry = entryOf(old);
  Level level = entry.level;
  if (!isWhole || entry.layout.kind == Layout::Whole || entry.shared)
    return level;
  for (int64_t boxes = boxesByParts(old) ? 2 : 1; boxes > 0; --boxes)
    level = behindBox(level);
  return level;
}

/// Sum of `a` and `b`, partial values of two shards; if `layout` is Largest,
/// the max.
static Value joinTwo(OpBuilder &builder, Location loc, Layout layout, Value a,
                     Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  if (layout.kind == Layout::Largest)
    return isFloat ? Value(arith::MaximumFOp::create(builder, loc, a, b))
                   : Value(arith::MaxSIOp::create(builder, loc, a, b));
  return isFloat ? Value(arith::AddFOp::create(builder, loc, a, b))
                 : Value(arith::AddIOp::create(builder, loc, a, b));
}

Value joinAll(OpBuilder &builder, Location loc, Layout layout,
              ArrayRef<Value> values) {
  Value joined = values.front();
  for (Value value : values.drop_front())
    joined = joinTwo(builder, loc, layout, joined, value);
  return joined;
}

bool Sharder::canScatter(Value old, Layout layout) {
  Entry &entry = entryOf(old);
  auto type = dyn_cast<RankedTensorType>(old.getType());
  bool isPartial = entry.layout.kind == Layout::Partial ||
                   entry.layout.kind == Layout::Largest;
  return graph && isPartial && entry.boxed.empty() && layout.isSplit() &&
         type && type.hasStaticShape() &&
         type.getNumElements() >= kLeastScattered && fits(type, layout, ways) &&
         canJoinAt(behindBox(entry.level));
}

std::optional<Layout> Sharder::scatteredLayout(Value old) {
  Entry &entry = entryOf(old);
  if (!entry.isProduct || entry.layout.kind != Layout::Partial)
    return std::nullopt;
  // Not along the last dimension, so that operations along it have all of it.
  auto type = dyn_cast<RankedTensorType>(old.getType());
  for (bool evenly : {true, false})
    for (int64_t dim = 0; type && dim + 1 < type.getRank(); ++dim)
      if (Layout layout = Layout::split(dim);
          (!evenly || fitsEvenly(type, layout, ways)) &&
          canScatter(old, layout))
        return layout;
  return std::nullopt;
}

bool Sharder::boxesByParts(Value old) {
  // With two shards, a sum in one step sends the same bytes as a scatter and a
  // join, but waits once, not twice.
  return ways > 2 && scatteredLayout(old);
}

SmallVector<Value> Sharder::partsFor(int64_t shard, Value old, Layout layout) {
  ArrayRef<Value> sent = sentFrom(old);
  Level before = std::exchange(here, entryOf(old).sent.empty()
                                         ? entryOf(old).level
                                         : entryOf(old).level.later());
  SmallVector<Value> parts;
  for (int64_t from = 0; from < ways; ++from)
    parts.push_back(takePart(builder, at(old.getDefiningOp(), from), sent[from],
                             layout, ways, shard));
  here = before;
  return parts;
}

void Sharder::scatter(Value old, Layout layout) {
  Level before = here;
  Entry &entry = entryOf(old);
  here = behindBox(entry.level);
  SmallVector<Value> sums;
  for (int64_t shard = 0; shard < ways; ++shard) {
    SmallVector<Value> parts = partsFor(shard, old, layout);
    sums.push_back(
        joinAll(builder, at(old.getDefiningOp(), shard), entry.layout, parts));
    mark(*sums.back().getDefiningOp());
  }
  ++boxes.scatters;
  boxes.bytes += (ways - 1) * bytesOf(old.getType());
  entry.layout = layout;
  entry.copies = std::move(sums);
  entry.level = here;
  entry.scattered = true;
  here = before;
}

void Sharder::box(Value old) {
  if (boxesByParts(old))
    scatter(old, *scatteredLayout(old));
  ArrayRef<Value> parts = sentFrom(old);
  Level before = here;
  here = levelOf(old, /*isWhole=*/true);
  Entry &entry = entryOf(old);
  SmallVector<Value> boxed;
  for (int64_t shard = 0; shard < (graph ? ways : 1); ++shard) {
    Location loc = at(old.getDefiningOp(), shard);
    boxed.push_back(entry.layout.isSplit()
                        ? joinParts(builder, loc,
                                    cast<RankedTensorType>(old.getType()),
                                    parts, entry.layout)
                        : joinAll(builder, loc, entry.layout, entry.copies));
  }
  ++(entry.layout.isSplit() ? boxes.joins : boxes.sums);
  boxes.bytes +=
      (entry.layout.isSplit() ? 1 : ways) * (ways - 1) * bytesOf(old.getType());
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
  Level before = std::exchange(here, behindBox(entry.level));
  SmallVector<Value> made;
  for (int64_t shard = 0; shard < ways; ++shard) {
    RankedTensorType part = localType(type, layout, ways, shard);
    SmallVector<Value> parts = partsFor(shard, old, layout);
    made.push_back(joinParts(builder, at(old.getDefiningOp(), shard), part,
                             parts, entry.layout));
    mark(*made.back().getDefiningOp());
  }
  ++boxes.exchanges;
  boxes.bytes += (ways - 1) * bytesOf(old.getType()) / ways;
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
