//===- ShardAcrossStages.cpp - values between stages of shards ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Analysis/Work.h"
#include "llvm/ADT/ScopeExit.h"

namespace stagewright::pipeline {

/// Levels that a stage may still add after its last operation, to sum and join
/// what it sends.
static constexpr int64_t kSpareLevels = 3;

void Sharder::enterStage(int number) {
  if (!stages)
    return;
  stage = std::max(number, 0);
  ways = stages->ways[size_t(stage)];
  entries.resize(std::max(entries.size(), size_t(stage) + 1));
  while (graph && firsts.size() <= size_t(stage)) {
    lasts.push_back(top + top % 2);
    firsts.push_back(lasts.back() + kSpareLevels + 1);
    top = firsts.back();
  }
}

int Sharder::stageOf(Value old) const { return stages ? homes.lookup(old) : 0; }

int64_t Sharder::firstLevel() const {
  return stages && graph ? firsts[size_t(stage)] : 0;
}

int64_t Sharder::lastLevel() const {
  return stages && graph && size_t(stage) < lasts.size() ? lasts[size_t(stage)]
                                                         : top + top % 2;
}

void Sharder::copyByStages(Block &block, bool addsPartial) {
  auto order = inOrderOfStages(block, *graph, *stages);
  if (addsPartial) {
    SumTrees::Groups groups; // Operations that are copied one after another.
    int group = 0;
    for (auto [i, entry] : llvm::enumerate(order)) {
      group += i > 0 && entry.second != order[i - 1].second;
      groups[entry.first] = group;
      stageOfOp[entry.first] = entry.second;
    }
    sums = SumTrees(block, groups);
  }
  for (auto [op, number] : order) {
    enterStage(number);
    copyInTurn(*op);
  }
}

int Sharder::stageOfReads(Operation &op) const {
  for (Value value : readsOf(op)) {
    int home = stageOf(value);
    if (home == StageShards::kAny)
      continue;
    const Entry &entry = *entries[size_t(home)].find(value)->second;
    if (!entry.shared && entry.layout.kind != Layout::Whole)
      return home;
  }
  return 0;
}

/// A copy of `value`, so that the shard that receives it has an operation.
static Value copyOf(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::CopyOp::create(builder, loc, value, empty).getResult(0);
}

Value Sharder::received(Value old, int from, Layout layout, int64_t shard,
                        Level there) {
  int64_t own = ways, dim = 0;
  auto type = cast<RankedTensorType>(old.getType());
  SmallVector<Value> pieces;
  RankedTensorType part = localType(type, layout, own, shard);
  {
    int to = stage;
    enterStage(from);
    auto back = llvm::make_scope_exit([&] { enterStage(to); });
    Entry &source = entryOf(old);
    int64_t sender = stages->senderOf(from, to, shard);
    here = source.level;
    here.number = std::max(here.number, firstLevel());
    auto count = [&](int64_t sends, Value piece) {
      if (!stages->areOnOneDevice(from, sends, to, shard))
        boxes.bytes += bytesOf(piece.getType());
    };
    if (!source.layout.isSplit() || source.layout.outer != 1) {
      pieces.push_back(whole(old, sender));
      count(sender, pieces.back());
    } else {
      // Both are ranges of the same dimension.
      ChunkParts theirs = chunkPartsOf(type, source.layout, ways),
                 parts = layout.isSplit()
                             ? chunkPartsOf(type, layout, own)
                             : chunkPartsOf(type, source.layout, 1);
      int64_t mine = layout.isSplit() ? shard : 0;
      dim = source.layout.dim;
      for (int64_t other = 0; other < ways; ++other) {
        int64_t first = std::max(parts.start(mine), theirs.start(other));
        int64_t end = std::min(parts.start(mine + 1), theirs.start(other + 1));
        if (first >= end)
          continue;
        pieces.push_back(takeRange(builder, at(old.getDefiningOp(), other),
                                   source.copies[other], dim,
                                   first - theirs.start(other), end - first));
        count(other, pieces.back());
      }
    }
  }
  here = there;
  Location loc = at(old.getDefiningOp(), shard);
  Value made = pieces.size() == 1 ? copyOf(builder, loc, pieces.front())
                                  : joinRanges(builder, loc, part, pieces, dim);
  mark(*made.getDefiningOp());
  return made;
}

bool Sharder::isAway(Value old) const {
  int home = stageOf(old);
  return stages && graph && home != StageShards::kAny && home != stage &&
         isa<RankedTensorType>(old.getType()) &&
         !entries[size_t(stage)].contains(old);
}

Sharder::Level Sharder::arrivalFrom(int from) const {
  bool backward = from > stage;
  return {backward ? lastLevel() : firstLevel(), backward};
}

void Sharder::bringAsAddend(Value old) {
  int from = stageOf(old), to = stage;
  auto restore =
      llvm::make_scope_exit([this, before = here, wasForward = isForward] {
        here = before;
        isForward = wasForward;
      });
  const StepOp *op = entryIn(old);
  isForward = from < to && op && op->isChained();
  enterStage(from);
  SmallVector<int64_t> takers; // By shard of the other stage.
  std::optional<int64_t> common;
  for (int64_t shard = 0; shard < ways; ++shard) {
    takers.push_back(stages->senderOf(to, from, shard));
    if (!common && stages->areOnOneDevice(from, shard, to, takers.back()))
      common = shard;
  }
  // One shard gives a whole value, to itself if it can.
  Entry &source = entryOf(old);
  bool isWhole =
      source.layout.isSplit()
          ? common && !source.boxed.empty()
          : source.layout.kind != Layout::Partial || !source.boxed.empty();
  Layout layout = isWhole ? Layout() : source.layout;
  SmallVector<Value> given = source.copies;
  if (isWhole) {
    given.assign(size_t(ways), Value());
    given[size_t(common.value_or(0))] = whole(old, common.value_or(0));
  }
  for (auto [shard, value] : llvm::enumerate(given))
    if (value &&
        !stages->areOnOneDevice(from, int64_t(shard), to, takers[shard]))
      boxes.bytes += bytesOf(value.getType());

  enterStage(to);
  here = arrivalFrom(from);
  Entry &entry = makeEntry(old);
  entry.layout = {Layout::Partial};
  entry.level = here;
  for (int64_t shard = 0; shard < ways; ++shard) {
    SmallVector<Value> taken = given, present;
    for (auto [value, taker] : llvm::zip_equal(taken, takers)) {
      if (taker != shard)
        value = Value();
      if (value)
        present.push_back(value);
    }
    Value made;
    Location loc = at(old.getDefiningOp(), shard);
    if (layout.isSplit() && !present.empty())
      made = joinParts(builder, loc, cast<RankedTensorType>(old.getType()),
                       taken, layout);
    else if (present.size() > 1)
      made = joinAll(builder, loc, layout, present);
    else if (!present.empty())
      made = copyOf(builder, loc, present.front());
    if (made)
      mark(*made.getDefiningOp());
    entry.copies.push_back(made);
  }
}

Sharder::Entry &Sharder::bring(Value old) {
  int from = homes.lookup(old), to = stage;
  Level before = here;
  bool wasForward = isForward;
  auto restore = llvm::make_scope_exit([&] {
    here = before;
    isForward = wasForward;
  });
  if (from == StageShards::kAny) {
    auto known = llvm::find_if(
        entries, [&](const Entries &own) { return own.contains(old); });
    const Entry &source = *known->find(old)->second;
    Value value = source.shared ? source.copies.front() : source.boxed.front();
    setArgument(old, value);
    here = {firstLevel()};
    if (batches.contains(old))
      share(old, value, batches.lookup(old));
    return entryOf(old);
  }
  auto type = dyn_cast<RankedTensorType>(old.getType());
  if (!type) { // An index or the like, which each stage computes.
    copy(*old.getDefiningOp());
    return entryOf(old);
  }
  const StepOp *op = entryIn(old);
  // Of the forward, later stages receive values of earlier ones; of the
  // backward, earlier ones those of later ones.
  isForward = from < to && op && op->isChained();
  enterStage(from);
  Entry &source = entryOf(old);
  // A sum is scattered, if it may be: its parts are sent once each.
  if (graph && source.layout.kind == Layout::Partial && source.boxed.empty())
    if (std::optional<Layout> layout = scatteredLayout(old))
      scatter(old, *layout);
  Layout layout = source.layout;
  int64_t count = stages->ways[size_t(to)];
  if (!layout.isSplit() || layout.outer != 1 || count == 1 ||
      !fits(type, layout, count))
    layout = Layout();
  else if (fitsEvenly(type, layout, count))
    layout.unit = 1;
  Value shared = graph ? Value() : whole(old, 0);
  bool isScattered = source.scattered, isSplitBySamples = source.samples;
  enterStage(to);
  Entry &entry = makeEntry(old);
  entry.layout = layout;
  if (shared) {
    entry.copies.assign(ways, shared);
    entry.shared = true;
  } else {
    entry.level = arrivalFrom(from);
    entry.scattered = layout.isSplit() && isScattered;
    entry.samples = layout.isSplit() && isSplitBySamples;
    for (int64_t shard = 0; shard < ways; ++shard)
      entry.copies.push_back(received(old, from, layout, shard, entry.level));
  }
  return entry;
}

} // namespace stagewright::pipeline
