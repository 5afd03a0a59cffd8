//===- Sums.cpp - sums over ranks -----------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

namespace stagewright::torank {

void emitCollectives(const Plan &plan, ModuleNames &names, OpBuilder &builder) {
  pipeline::GraphOp graph = plan.graph;
  names.sums.resize(plan.buckets.size());
  auto create = [&](StringRef name, unsigned number, MemRefType type) {
    auto sum = rank::CollectiveOp::create(
        builder, graph.getLoc(), (name + "." + Twine(number)).str(),
        plan.buckets[number].ranks, TypeAttr::get(type));
    names.symbols.insert(sum);
    names.sums[number] = FlatSymbolRefAttr::get(sum.getSymNameAttr());
  };
  for (const AveragePlan &average : plan.averages)
    create("average", average.bucket, average.type);
  if (plan.averaging)
    return;
  for (auto [number, bucket] : llvm::enumerate(plan.buckets)) {
    int64_t bytes = 0;
    Type element;
    for (int64_t result : bucket.results) {
      MemRefType type = memoryOf(graph.getResultTypes()[result]);
      bytes += rank::getSlotStride(type);
      element = type.getElementType();
    }
    int64_t one = rank::getSlotBytes(MemRefType::get({1}, element));
    create("gradients", number, MemRefType::get({bytes / one}, element));
  }
}

bool RankEmitter::isSummed(unsigned accumulator) const {
  int64_t result = plan.accumulators[accumulator].result;
  return plan.bucketOfResult[result] >= 0 &&
         plan.accumulatorOf(result, rank) == accumulator;
}

void RankEmitter::beginSum(unsigned number, Value m, Value last) {
  if (plan.averaging) // Each replica has gradients of its own.
    return;
  SmallVector<Value> buffers;
  for (int64_t result : plan.buckets[number].results)
    buffers.push_back(accumulators.at(plan.accumulatorOf(result, rank)));
  rank::AllReduceOp::create(builder, loc, names.sums[number], buffers, m, last);
}

/// Begins the sums that are complete after the node at `position`.
void RankEmitter::beginSums(const ActionKey &key, unsigned position) {
  for (auto [number, bucket] : llvm::enumerate(plan.buckets)) {
    auto found = bucket.starts.find(rank);
    if (found == bucket.starts.end())
      continue;
    const BucketPlan::Start &start = found->second;
    if (!start.atEnd && start.key == key && start.position == position)
      beginSum(number, numbers.inOrder,
               plan.family ? lastMicrobatch : constant(start.last));
  }
}

/// Begins the sums that start at the end of the step; a rank with several parts
/// of a gradient adds them first. If its pipeline had no microbatch (the last
/// is -1), also begins its other sums.
void RankEmitter::beginLateSums() {
  for (auto [number, bucket] : llvm::enumerate(plan.buckets)) {
    auto found = bucket.starts.find(rank);
    if (found == bucket.starts.end())
      continue;
    if (!found->second.atEnd) {
      if (lastMicrobatch && plan.pipelines > 1)
        beginSum(number, constant(-1), lastMicrobatch);
      continue;
    }
    for (int64_t result : bucket.results)
      for (auto [part, buffer] : accumulators)
        if (plan.accumulators[part].result == result && !isSummed(part))
          rank::AddOp::create(builder, loc, slots[buffer], ownedSlot(result));
    beginSum(number);
  }
}

void RankEmitter::awaitSums() {
  for (auto [number, bucket] : llvm::enumerate(plan.buckets))
    if (bucket.starts.count(rank) && !plan.averaging)
      rank::AwaitReducedOp::create(builder, loc, names.sums[number]);
}

} // namespace stagewright::torank
