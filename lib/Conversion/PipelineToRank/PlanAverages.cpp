//===- PlanAverages.cpp - averages of parameters over replicas ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With `averaging` the ranks of a stage do not sum its gradients: each updates
// parameters and state of its own, and a bucket lists the gradients whose
// parameters are averaged together. If several stages use a parameter, the
// ranks of one replica sum its gradient in every step, and each has a copy,
// equal in all bits. The state of averages, and the parameters and state that
// each replica has for itself, are further state of the step: arguments with
// positions after all others, and results that replace them.
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"

namespace stagewright::torank {

/// The first copy of a stage that `rank` runs; -1: it runs none.
static int64_t firstStageOf(const Plan &plan, int64_t rank) {
  auto found = llvm::find(plan.rankOfStage, rank);
  return found == plan.rankOfStage.end() ? -1
                                         : found - plan.rankOfStage.begin();
}

int64_t Plan::replicaOfRank(int64_t rank) const {
  if (pipelines > 1)
    return pipelineOfRank[rank];
  int64_t stage = firstStageOf(*this, rank);
  return stage < 0 ? 0 : sharesOfStages[stageNumber(stage)].first;
}

Plan::Share Plan::shareOf(int64_t rank) const {
  int64_t stage = firstStageOf(*this, rank);
  return stage < 0 ? Share() : sharesOfStages[stageNumber(stage)].second;
}

std::set<std::tuple<int64_t, int64_t, int64_t>>
Plan::replicasOf(ArrayRef<int64_t> ranks) const {
  std::set<std::tuple<int64_t, int64_t, int64_t>> replicas;
  for (int64_t rank : ranks) {
    Share share = shareOf(rank);
    replicas.insert({replicaOfRank(rank), share.own, share.all});
  }
  return replicas;
}

double Plan::weightOf(const BucketPlan &bucket, int64_t rank) const {
  Share share = shareOf(rank);
  auto sharers = bucket.sharers.find(rank);
  size_t copies = sharers == bucket.sharers.end() ? 1 : sharers->second.size();
  return double(share.own) / double(share.all) / double(copies);
}

int64_t Plan::runsOf(int64_t rank) const {
  int64_t stage = firstStageOf(*this, rank), count = 0;
  for (auto [other, from] : llvm::enumerate(rankOfStage))
    if (from == rank && stageNumber(other) == stageNumber(stage))
      count += int64_t(microbatchesOf[other / numStages].size());
  return count;
}

namespace {

/// The ranks of each stage that uses the parameter with gradient `result`.
SmallVector<SmallVector<int64_t>> ranksOfStages(const Plan &plan,
                                                int64_t result) {
  std::map<int64_t, std::set<int64_t>> ranks;
  for (const AccumulatorPlan &part : plan.accumulators)
    if (part.result == result)
      ranks[plan.originalStage(part.stage)].insert(
          plan.rankOfStage[part.stage]);
  return llvm::map_to_vector(
      ranks, [](const auto &stage) { return llvm::to_vector(stage.second); });
}

/// Fails if replicas cannot average a parameter: it is used by stages with
/// different replicas, is read by a rank that does not train it, or has a type
/// that cannot be averaged.
LogicalResult checkParameter(const Plan &plan, const UpdateArgument &argument,
                             const BucketPlan &bucket, int64_t result,
                             ArrayRef<SmallVector<int64_t>> stages) {
  pipeline::GraphOp graph = plan.graph;
  BlockArgument parameter = graph.getBody().getArgument(argument.number);
  auto what = [&] {
    return emitError(graph.getLoc())
           << "parameter '" << argument.name << "' cannot be averaged: ";
  };
  for (const SmallVector<int64_t> &ranks : stages) {
    auto replicas = plan.replicasOf(ranks);
    if (stages.size() == 1 || (replicas == plan.replicasOf(stages.front()) &&
                               replicas.size() == ranks.size()))
      continue;
    InFlightDiagnostic diagnostic = what()
                                    << "several stages use it, on ranks ";
    llvm::interleave(
        stages, [&](const auto &each) { diagnostic << "[" << each << "]"; },
        [&] { diagnostic << " and "; });
    return diagnostic << ", but have different replicas; give them the same "
                      << "replicas and samples, or put its layers on one stage";
  }
  for (int64_t rank = 0; rank < plan.numRanks(); ++rank)
    if (plan.reads(rank, parameter) && !llvm::is_contained(bucket.ranks, rank))
      return what() << "rank " << rank << " reads it, but ranks ["
                    << bucket.ranks
                    << "] train it; put its layers on one stage";
  Type type = graph.getFunctionType().getInput(argument.number);
  Type gradient = graph.getFunctionType().getResult(result);
  if (type != gradient ||
      !isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
    return what() << "it has type " << type << " and its gradient " << gradient
                  << "; the types must be equal, with float elements";
  return success();
}

/// Sets the sharers of `bucket`: the ranks of each replica that has several.
void findSharers(const Plan &plan, BucketPlan &bucket) {
  std::map<int64_t, SmallVector<int64_t>> ranks; // By replica.
  for (int64_t rank : bucket.ranks)
    ranks[plan.replicaOfRank(rank)].push_back(rank);
  for (int64_t rank : bucket.ranks)
    if (ArrayRef<int64_t> all = ranks[plan.replicaOfRank(rank)]; all.size() > 1)
      bucket.sharers[rank].assign(all.begin(), all.end());
}

/// Finds the parameters that are averaged with bucket `number`, and assigns
/// positions from `next` on to the state of the average.
FailureOr<AveragePlan> planAverage(Plan &plan, unsigned number, int64_t &next) {
  BucketPlan &bucket = plan.buckets[number];
  pipeline::GraphOp graph = plan.graph;
  AveragePlan average;
  average.bucket = number;
  int64_t bytes = 0;
  for (int64_t result : bucket.results) {
    auto of = graph.getResultAttrOfType<IntegerAttr>(
        result, pipeline::PipelineDialect::kOf);
    for (auto [index, it] : llvm::enumerate(plan.update->arguments)) {
      if (it.role != pipeline::Role::Parameter || it.replacedBy < 0 || !of ||
          int64_t(it.number) != of.getInt())
        continue;
      auto stages = ranksOfStages(plan, result);
      if (failed(checkParameter(plan, it, bucket, result, stages)))
        return failure();
      if (stages.size() > 1)
        findSharers(plan, bucket);
      auto type =
          cast<RankedTensorType>(graph.getFunctionType().getInput(it.number));
      bytes += rank::getSlotStride(
          MemRefType::get(type.getShape(), type.getElementType()));
      average.type = MemRefType::get({1}, type.getElementType());
      average.parameters.push_back(index);
    }
  }
  if (average.parameters.empty())
    return average;
  average.type = MemRefType::get({bytes / rank::getSlotBytes(average.type)},
                                 average.type.getElementType());
  average.step = next++;
  average.sum = next++;
  if (plan.averaging.isCorrected() && plan.averaging.getDelay() > 0)
    for (int64_t rank : bucket.ranks)
      average.snapshots[rank] = next++;
  return average;
}

} // namespace

LogicalResult planAverages(Plan &plan) {
  if (!plan.averaging)
    return success();
  auto loc = pipeline::ProgramOp(plan.program).getLoc();
  if (!plan.update)
    return emitError(loc) << "replicas average their parameters, but there is "
                          << "no @update that changes them; import the model "
                          << "with the option 'update'";
  int64_t next = plan.update->nextPosition;
  std::set<int64_t> ranks;
  for (unsigned number = 0; number < plan.buckets.size(); ++number) {
    FailureOr<AveragePlan> average = planAverage(plan, number, next);
    if (failed(average))
      return failure();
    ranks.insert(plan.buckets[number].ranks.begin(),
                 plan.buckets[number].ranks.end());
    if (!average->parameters.empty())
      plan.averages.push_back(std::move(*average));
  }
  if (plan.averages.empty())
    return emitError(loc) << "there is nothing to average: no stage with a "
                          << "gradient has replicas; give a plan with some, "
                          << "such as \"[0,3)x2\", and buckets of at least 1 "
                          << "byte";
  // State without an owner can depend on the gradients of a replica, too.
  for (int64_t rank : ranks)
    for (unsigned number : plan.update->parts[rank].last.replaced)
      plan.ownPositions[{number, rank}] = next++;
  return success();
}

} // namespace stagewright::torank
