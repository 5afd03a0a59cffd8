//===- Sharder.cpp - values and levels of a sharded step ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Analysis/Scope.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright::pipeline {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Sharder::setArgument(Value old, Value whole) {
  Entry &entry = makeEntry(old);
  entry.copies.assign(ways, whole);
  entry.shared = true;
}

void Sharder::setArgument(Value old, Layout layout, ArrayRef<Value> parts,
                          int number) {
  if (stages)
    stage = std::max(number, 0);
  entries.resize(std::max(entries.size(), size_t(stage) + 1));
  Entry &entry = makeEntry(old);
  entry.layout = layout;
  entry.copies.assign(parts.begin(), parts.end());
}

void Sharder::share(Value old, Value whole, Layout layout) {
  batches[old] = layout;
  auto type = cast<RankedTensorType>(old.getType());
  // Another stage, with another number of shards, may be able to split it.
  if (ways == 1 || !fits(type, layout, ways))
    return;
  SmallVector<Value> parts;
  for (int64_t shard = 0; shard < ways; ++shard)
    parts.push_back(
        takePart(builder, at(nullptr, shard), whole, layout, ways, shard));
  setArgument(old, layout, parts, stage);
  Entry &entry = entryOf(old);
  entry.shared = false;
  entry.samples = true;
  entry.boxed.assign(ways, whole);
}

const StepOp *Sharder::entryIn(Value value) const {
  int number = graph ? graph->indexOf(value) : -1;
  return number >= 0 ? &graph->ops[number] : nullptr;
}

Sharder::Entry &Sharder::entryOf(Value old) {
  auto found = entries[size_t(stage)].find(old);
  if (found != entries[size_t(stage)].end())
    return *found->second;
  assert(homes.contains(old) && "values are copied in their order");
  return bring(old);
}

Sharder::Entry &Sharder::makeEntry(Value old) {
  homes.try_emplace(old, stage);
  std::unique_ptr<Entry> &slot = entries[size_t(stage)][old];
  slot = std::make_unique<Entry>();
  return *slot;
}

Sharder::Entry &Sharder::set(Value old, Layout layout, ArrayRef<Value> copies) {
  Entry &entry = makeEntry(old);
  entry.layout = layout;
  entry.copies.assign(copies.begin(), copies.end());
  const StepOp *op = entryIn(old);
  entry.level = op && op->free ? Level() : here;
  return entry;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value originOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumRegions() > 1 || op->getNumOperands() == 0)
      break;
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (structured ? structured.getNumDpsInputs() != 1
                   : !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                          tensor::ExtractSliceOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

int64_t Sharder::levelByParameters(Operation &op, int64_t bound) const {
  int64_t level = -1;
  for (Value operand : op.getOperands()) {
    auto argument = dyn_cast<BlockArgument>(originOf(operand));
    auto found = readers.find(argument);
    if (!argument || !graph->isParameter(argument.getArgNumber()) ||
        found == readers.end())
      continue;
    auto above = found->second.upper_bound(bound);
    if (above != found->second.begin())
      level = std::max(level, *std::prev(above));
  }
  return level;
}

void Sharder::enter(Operation &op, bool isSplit, ArrayRef<Level> operands) {
  const StepOp *entry = op.getNumResults() ? entryIn(op.getResult(0)) : nullptr;
  bool backward = entry && entry->isBackward();
  int64_t forward = -1;
  std::optional<int64_t> bound;
  for (Level level : operands) {
    if (!level.backward)
      forward = std::max(forward, level.number);
    else
      bound = std::min(bound.value_or(level.number), level.number);
  }
  auto isOdd = [](int64_t level) { return level % 2 != 0; };
  // A cheap operation on forward values alone counts as forward, so that it
  // does not bound the levels of its readers.
  bool isFactor = backward && !bound && entry->work.isCheap();
  std::string scope = llvm::join(scopeOf(op.getLoc()), ".");
  // Other operations on forward values alone start a backward, at the top level
  // of their scope's forward.
  if (backward && !bound && !isFactor) {
    auto own = topOfScope.find(scope);
    bound = std::max(forward, own == topOfScope.end() ? top : own->second);
  }
  // The lowest level that forward operands allow; in the backward, the highest
  // that backward operands allow.
  int64_t least = firstLevel() + (firstLevel() > 0 && !backward);
  int64_t level = std::max(forward, least);
  level += isOdd(level) != isSplit;
  if (backward && bound) {
    int64_t below = *bound - (isOdd(*bound) != isSplit);
    // If it reads a parameter, the level at which the forward reads it.
    int64_t own = levelByParameters(op, below);
    own = own < 0 ? below : own + (isOdd(own) != isSplit);
    level = below >= forward && below >= 0
                ? std::max(level, std::min(own, below))
                : std::min(level, *bound);
    if (stages)
      level = std::max(std::min(level, lastLevel()), firstLevel());
  }
  here = {level, backward && !isFactor};
  here.tail = cuts && !isOdd(level) &&
              (here.backward ? isInBackwardTail(op, operands)
                             : isInForwardTail(op, operands));
  if (backward)
    return;
  if (cuts)
    noteReads(op);
  top = std::max(top, level);
  for (Value operand : op.getOperands())
    readers[originOf(operand)].insert(level);
  if (scope.empty())
    return;
  names.try_emplace(level, scope);
  int64_t &highest = topOfScope.try_emplace(scope, level).first->second;
  highest = std::max(highest, level);
}

Location Sharder::at(Operation *op, int64_t shard) {
  int64_t level = std::max(here.number, firstLevel());
  std::string scope =
      op && !here.backward ? llvm::join(scopeOf(op->getLoc()), ".") : "";
  if (!scope.empty())
    names.try_emplace(level, scope);
  auto name = names.find(level);
  std::string own =
      operationName(name == names.end() ? "step" : StringRef(name->second),
                    {level, shard, here.tail, /*again=*/false, stage});
  Location inner = op ? op->getLoc() : builder.getUnknownLoc();
  return NameLoc::get(builder.getStringAttr(own), inner);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Sharder::copy(Block &block, bool addsPartial) {
  if (graph && stages)
    return copyByStages(block, addsPartial);
  if (addsPartial)
    sums = SumTrees(block);
  for (Operation &op : block.without_terminator())
    copyInTurn(op);
}

static bool makesTensors(Operation &op) {
  return llvm::any_of(op.getResultTypes(),
                      [](Type type) { return isa<RankedTensorType>(type); });
}

SetVector<Value> readsOf(Operation &op) {
  SetVector<Value> reads(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), reads);
  return reads;
}

void Sharder::copy(Operation &op) {
  const StepOp *entry = op.getNumResults() ? entryIn(op.getResult(0)) : nullptr;
  bool chained = entry && (entry->isChained() || entry->isBackward());
  isForward = entry && entry->isChained();
  if (!graph && stages)
    enterStage(stageOfReads(op));
  bool onShared = llvm::all_of(
      readsOf(op), [&](Value value) { return entryOf(value).shared; });
  if (onShared && (!chained || !makesTensors(op)))
    return copyShared(op);
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  bool done = structured
                  ? (kept.contains(&op) && copyMoves(structured)) ||
                        copyStructured(structured) || copyMoves(structured) ||
                        copyLookup(structured) || copyScattered(structured)
                  : copyTensorOp(op);
  if (traced && entry)
    record(op, done);
  if (!done)
    graph ? copyWhole(op) : copyShared(op);
}

void Sharder::record(Operation &op, bool onParts) {
  bool readsParts = llvm::any_of(readsOf(op), [&](Value value) {
    const Entry &entry = entryOf(value);
    return onParts ? entry.layout.kind != Layout::Whole
                   : entry.layout.isSplit() && !entry.scattered;
  });
  auto number = unsigned(graph->indexOf(op.getResult(0)));
  if (readsParts && onParts)
    traced->onParts.insert(number);
  else if (readsParts)
    traced->onWholes.try_emplace(number, whyWhole(op));
}

void Sharder::mark(Operation &op) {
  if (isForward)
    op.setAttr(PipelineDialect::kForward, builder.getUnitAttr());
}

void Sharder::copyShared(Operation &op) {
  IRMapping mapping;
  for (Value value : readsOf(op))
    mapping.map(value, whole(value, 0));
  Operation *copied = builder.clone(op, mapping);
  for (auto [old, result] : llvm::zip(op.getResults(), copied->getResults())) {
    setArgument(old, result);
    homes[old] = StageShards::kAny;
  }
}

Operation *Sharder::copyWith(Operation &op, ValueRange operands,
                             TypeRange types, int64_t shard,
                             ArrayRef<std::pair<Value, Value>> held) {
  IRMapping mapping;
  for (auto [old, part] : held)
    mapping.map(old, part);
  for (Value value : readsOf(op))
    if (!mapping.contains(value) &&
        !llvm::is_contained(op.getOperands(), value))
      mapping.map(value, whole(value, shard));
  for (auto [old, operand] : llvm::zip(op.getOperands(), operands))
    mapping.map(old, operand);
  Operation *copied = builder.clone(op, mapping);
  copied->setOperands(operands);
  copied->setLoc(at(&op, shard));
  mark(*copied);
  for (auto [result, type] : llvm::zip_equal(copied->getResults(), types))
    result.setType(type);
  return copied;
}

void Sharder::copyWhole(Operation &op) {
  SetVector<Value> reads = readsOf(op);
  SmallVector<Level> levels;
  for (Value value : reads)
    levels.push_back(levelOf(value, /*isWhole=*/true));
  enter(op, /*isSplit=*/false, levels);
  SmallVector<SmallVector<Value>> copies(op.getNumResults());
  for (int64_t shard = 0; shard < ways; ++shard) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(whole(operand, shard));
    Operation *copied = copyWith(op, operands, op.getResultTypes(), shard);
    for (auto [list, result] : llvm::zip(copies, copied->getResults()))
      list.push_back(result);
  }
  for (auto [old, list] : llvm::zip(op.getResults(), copies))
    set(old, Layout(), list);
}

} // namespace stagewright::pipeline
