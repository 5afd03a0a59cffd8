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
  names.averages.resize(plan.buckets.size());
  auto create = [&](const Twine &name, ArrayRef<int64_t> ranks,
                    MemRefType type) {
    auto sum = rank::CollectiveOp::create(builder, graph.getLoc(), name.str(),
                                          ranks, TypeAttr::get(type));
    names.symbols.insert(sum);
    return FlatSymbolRefAttr::get(sum.getSymNameAttr());
  };
  for (const AveragePlan &average : plan.averages)
    names.averages[average.bucket] =
        create("average." + Twine(average.bucket),
               plan.buckets[average.bucket].ranks, average.type);
  for (auto [number, bucket] : llvm::enumerate(plan.buckets)) {
    int64_t bytes = 0;
    Type element;
    for (int64_t result : bucket.results) {
      MemRefType type = memoryOf(graph.getResultTypes()[result]);
      bytes += rank::getSlotStride(type);
      element = type.getElementType();
    }
    int64_t one = rank::getSlotBytes(MemRefType::get({1}, element));
    auto sum = [&](const Twine &name, ArrayRef<int64_t> ranks) {
      FlatSymbolRefAttr made =
          create(name, ranks, MemRefType::get({bytes / one}, element));
      for (int64_t rank : ranks)
        names.sums[{number, rank}] = made;
    };
    std::string name = "gradients." + std::to_string(number);
    if (!plan.averaging)
      sum(name, bucket.ranks);
    for (const auto &[rank, sharers] : bucket.sharers)
      if (sharers.front() == rank)
        sum(name + ".rank" + Twine(rank), sharers);
  }
}

bool RankEmitter::isSummed(unsigned accumulator) const {
  int64_t result = plan.accumulators[accumulator].result;
  return plan.bucketOfResult[result] >= 0 &&
         plan.accumulatorOf(result, rank) == accumulator;
}

void RankEmitter::beginSum(unsigned number, Value m, Value last) {
  auto sum = names.sums.find({number, rank});
  if (sum == names.sums.end()) // Each replica has gradients of its own.
    return;
  SmallVector<Value> buffers;
  for (int64_t result : plan.buckets[number].results)
    buffers.push_back(accumulators.at(plan.accumulatorOf(result, rank)));
  rank::AllReduceOp::create(builder, loc, sum->second, buffers, m, last);
}

/// Begins the sums over ranks that, by the plan, start on this rank after the
/// node at `position` of action `key`.
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
/// of a gradient adds them first. If the rank's pipeline has no microbatch in
/// this step (its last microbatch is -1), its other sums begin here too.
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
  for (auto &[of, sum] : names.sums)
    if (of.second == rank)
      rank::AwaitReducedOp::create(builder, loc, sum);
}

} // namespace stagewright::torank
