//===- ShardSums.cpp - sums of partial and other values -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A partial value could be summed before it is added to a whole or split one.
// If the result is then added to a further partial value, both partial values
// are summed, which sends twice as much as necessary. Here the whole or split
// value becomes partial instead, which sends nothing: one shard adds a whole
// value, each shard adds its part of a split one, and the result is summed
// once. Of a value of another stage, each shard adds what bringAsAddend() gives
// it.
//
// Additions of partial and other values wait until all values of their tree
// are there. Then the number of bytes of the values to be summed decides:
// those of the result, or those of its partial addends.
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Analysis/Work.h"

namespace stagewright::pipeline {

bool Sharder::waits(Operation &op) {
  Operation *root = sums.rootOf.lookup(&op);
  if (!root)
    return false;
  unsigned partial = 0;
  bool isBehind = false;
  SmallVector<Value> addends = addendsOf(op);
  for (Value value : addends) {
    bool isWaiting = waiting[root].contains(value.getDefiningOp());
    isBehind |= isWaiting;
    partial +=
        !isWaiting && !isAway(value) && layoutOf(value).kind == Layout::Partial;
  }
  bool staysPartial = partial == addends.size() && !isa<tensor::PadOp>(op);
  if (!isBehind && (partial == 0 || staysPartial))
    return false;
  waiting[root].insert(&op);
  return true;
}

void Sharder::copyInTurn(Operation &op) {
  if (waits(op))
    return;
  if (waiting.contains(&op))
    copySum(op);
  else
    copy(op);
}

void Sharder::copySum(Operation &root) {
  SumNodes nodes = waiting.lookup(&root);
  nodes.insert(&root);
  costOf(root.getResult(0), nodes);
  keepSums(root.getResult(0), nodes, /*keeps=*/false);
  bringAddends(nodes);
  for (Operation *op : nodes)
    copy(*op);
  // If a reader computed another partial value from the partial sum, as the
  // mean of a norm does, both would have to be summed.
  Value sum = root.getResult(0);
  auto keepsOn = [](Operation *user) {
    auto structured = dyn_cast<linalg::LinalgOp>(user);
    return structured ? keepsPartial(structured) : isShapeOp(*user);
  };
  if (!kept.contains(&root) || layoutOf(sum).kind != Layout::Partial ||
      sum.hasOneUse() || llvm::none_of(sum.getUsers(), keepsOn))
    return;
  if (std::optional<Layout> layout = scatteredLayout(sum); layout && scatters)
    scatter(sum, *layout);
  else
    box(sum);
}

Sharder::SumCost Sharder::costOf(Value value, const SumNodes &nodes) {
  Operation *op = value.getDefiningOp();
  int64_t bytes = bytesOf(value.getType());
  SumCost cost;
  if (!nodes.contains(op) && isAway(value)) {
    Level level = arrivalFrom(stageOf(value));
    (level.backward ? cost.backward : cost.forward) = level.number;
    return cost;
  }
  if (!nodes.contains(op)) {
    Entry &entry = entryOf(value);
    // What others read as well is summed for them anyway.
    bool isSummed = entry.layout.kind == Layout::Partial &&
                    entry.boxed.empty() && value.hasOneUse();
    Level level = levelOf(value, entry.layout.kind == Layout::Largest);
    if (isSummed)
      cost = {bytes, level};
    else
      (level.backward ? cost.backward : cost.forward) = level.number;
    return cost;
  }
  for (Value addend : addendsOf(*op)) {
    SumCost other = costOf(addend, nodes);
    cost.bytes += other.bytes;
    cost.isAlike &= other.isAlike && (!cost.level || !other.level ||
                                      *cost.level == *other.level);
    cost.level = cost.level ? cost.level : other.level;
    cost.forward = std::max(cost.forward, other.forward);
    cost.backward = std::min(cost.backward, other.backward);
  }
  if (!cost.level || cost.bytes <= bytes || !cost.isAlike)
    return cost;
  // The sum is computed at the level of its partial addends. In the forward it
  // may also add values of the next level, which are boxed between the two
  // levels, unless a stage can end between them.
  int64_t number = cost.level->number;
  bool backward = cost.level->backward;
  bool areThere = cost.forward <= number + (backward || cuts ? 0 : 1) &&
                  cost.backward >= (backward ? number : kNoLevel);
  if (areThere && isOnSplitLevel(*cost.level) && !growsBehind(value)) {
    cost.bytes = bytes;
    summed.insert(op);
  }
  return cost;
}

void Sharder::keepSums(Value value, const SumNodes &nodes, bool keeps) {
  Operation *op = value.getDefiningOp();
  if (!nodes.contains(op))
    return;
  keeps |= summed.contains(op);
  if (keeps)
    kept.insert(op);
  for (Value addend : addendsOf(*op))
    keepSums(addend, nodes, keeps);
}

void Sharder::bringAddends(const SumNodes &nodes) {
  // Any stage may return values, and computes itself what is free and the
  // scalars that it reads.
  auto addsOrIsElsewhere = [&](Operation *user) {
    Operation *op = nodes.front()->getBlock()->findAncestorOpInBlock(*user);
    if (kept.contains(op))
      return true;
    const StepOp *entry =
        op->getNumResults() ? entryIn(op->getResult(0)) : nullptr;
    return entry && !entry->free && stageOfOp.lookup(op) != stage &&
           llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
  };
  for (Operation *op : nodes)
    if (kept.contains(op))
      for (Value value : addendsOf(*op))
        if (!nodes.contains(value.getDefiningOp()) && isAway(value) &&
            llvm::all_of(value.getUsers(), addsOrIsElsewhere))
          bringAsAddend(value);
}

Value Sharder::addend(Value old, int64_t shard) {
  Entry &entry = entryOf(old);
  switch (entry.layout.kind) {
  case Layout::Partial:
    return entry.copies[shard];
  case Layout::Split:
    return padPart(builder, at(old.getDefiningOp(), shard),
                   cast<RankedTensorType>(old.getType()), entry.copies[shard],
                   entry.layout, ways, shard);
  case Layout::Whole:
  case Layout::Largest:
    return shard == 0 ? whole(old, shard) : Value();
  }
  llvm_unreachable("all kinds are handled");
}

Value Sharder::addPartial(linalg::LinalgOp op, int64_t shard) {
  SmallVector<Value> operands;
  Value only; // The only addend that is not zero.
  bool isOnly = op.getNumDpsInputs() > 1;
  for (OpOperand *input : op.getDpsInputOperands()) {
    operands.push_back(addend(input->get(), shard));
    if (!operands.back())
      continue;
    AffineMap map = op.getMatchingIndexingMap(input);
    isOnly &= !only && map.isPermutation() &&
              map == op.getIndexingMapMatchingResult(op->getResult(0)) &&
              input->get().getType() == op->getResult(0).getType();
    only = operands.back();
  }
  if (isOnly && only)
    return only;
  for (auto [operand, input] :
       llvm::zip_equal(operands, op.getDpsInputOperands())) {
    if (operand)
      continue;
    auto type = cast<RankedTensorType>(input->get().getType());
    Location loc = at(op, shard);
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(type.getElementType()));
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    operand = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  }
  operands.push_back(whole(op.getDpsInits()[0], shard));
  return copyWith(*op, operands, op->getResultTypes(), shard)->getResult(0);
}

} // namespace stagewright::pipeline
