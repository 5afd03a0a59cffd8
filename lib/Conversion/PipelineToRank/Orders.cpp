//===- Orders.cpp - the order of each rank as loops, a table or lanes -----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If each rank has one stage, and the orders are those of a generator with
// `anyMicrobatches`, they become loops that are correct for any number of
// microbatches, unless there are several pipelines and a result is that of the
// last microbatch. All other orders are for one number of microbatches: loops
// if they repeat, else a table. Ranks that run what is ready get lanes.
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Analysis/PlanData.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::torank {

/// Max average number of times that loop bodies contain a case (kind and
/// stage); above it a table is smaller, which contains each case once.
/// Interleaved schedules run G forwards, or G backwards, of one chunk before
/// those of the next chunk, so their loop bodies contain a case G times.
static constexpr size_t kMostBodiesPerCase = 8;

/// For each stage: the number of the scheduled stage of which it is a replica.
/// Replicas of one stage have consecutive numbers.
static std::vector<int64_t> scheduledStages(const Plan &plan) {
  std::vector<int64_t> scheduled;
  for (size_t stage = 0; stage < plan.replicaOf.size(); ++stage)
    scheduled.push_back(stage == 0
                            ? 0
                            : scheduled.back() + (plan.replicaOf[stage] !=
                                                  plan.replicaOf[stage - 1]));
  return scheduled;
}

/// The schedules of `generator` for every number of microbatches, with stage r
/// alone on rank r, and with forwards recomputed for the stages that recompute
/// in `plan.data`. Replicas run the order of their stage.
static ScheduleFamily familyFor(const Plan &plan, const Generator &generator) {
  std::vector<int64_t> scheduled = scheduledStages(plan);
  std::vector<bool> again(scheduled.back() + 1);
  for (const Order &order : plan.data.ranks)
    for (const Action &action : order)
      if (action.kind == ActionKind::Recompute)
        again[scheduled[action.stage]] = true;
  ScheduleFamily family =
      [=, once = familyOf(generator, scheduled.back() + 1,
                          pipeline::isForwardOnly(plan.graph))](
          int64_t microbatches) { return runAgain(once(microbatches), again); };
  if (scheduled.back() + 1 == plan.numStages)
    return family;
  return [=](int64_t microbatches) {
    Schedule all = family(microbatches);
    std::vector<Order> orders = std::move(all.ranks);
    all.ranks.clear();
    for (auto [stage, of] : llvm::enumerate(scheduled)) {
      all.ranks.push_back(orders[of]);
      for (Action &action : all.ranks.back())
        action.stage = int64_t(stage);
    }
    all.stages = int64_t(scheduled.size());
    return all;
  };
}

/// Whether every pipeline of `plan.data` runs its microbatches in the order of
/// `family`.
static bool isOf(const Plan &plan, const ScheduleFamily &family) {
  for (int64_t copy = 0; copy < plan.pipelines; ++copy)
    for (int64_t stage = 0; stage < plan.numStages; ++stage) {
      int64_t number = copy * plan.numStages + stage;
      int64_t rank = plan.rankOfStage[number];
      Order wanted = family(plan.microbatchesOfRank(rank)).ranks[stage];
      for (Action &action : wanted)
        action.stage += copy * plan.numStages;
      if (orderOfCopies(plan, rank) != wanted)
        return false;
    }
  return true;
}

/// Whether some result is that of the last microbatch. Which of several
/// pipelines runs that one depends on the number of microbatches.
static bool keepsLast(const Plan &plan) {
  pipeline::GraphOp graph = plan.graph;
  for (unsigned result = 0; result < graph.getNumResults(); ++result)
    if (plan.combineOf(result) == pipeline::Combine::Last)
      return true;
  return false;
}

/// The loops of every rank, for any number of microbatches, if `plan.data` is
/// of the family of its generator. Then sets `plan.family`, too.
static std::optional<std::vector<std::vector<Segment>>>
matchFamily(Plan &plan) {
  Result<Generator> generator = findGenerator(plan.data.kind);
  if (!generator || !generator->anyMicrobatches ||
      generator->placement == Placement::Twin || generator->leastChunks != 1 ||
      plan.numCopies() != plan.pipelines ||
      plan.numRanks() != plan.numStages * plan.pipelines ||
      (plan.pipelines > 1 && keepsLast(plan)))
    return std::nullopt;
  ScheduleFamily family = familyFor(plan, *generator);
  if (!isOf(plan, family))
    return std::nullopt;
  auto segments = compressToSegments(family);
  if (!segments)
    return std::nullopt;
  plan.family = std::move(family);
  std::vector<std::vector<Segment>> all(plan.numRanks());
  for (int64_t number = 0; number < int64_t(plan.rankOfStage.size());
       ++number) {
    auto &loops = all[plan.rankOfStage[number]];
    loops = (*segments)[plan.stageNumber(number)];
    for (Segment &loop : loops)
      for (SegmentAction &action : loop.body)
        action.stage = number;
  }
  return all;
}

Order orderOfCopies(const Plan &plan, int64_t rank) {
  std::vector<int64_t> copyOf(plan.data.microbatches);
  for (auto [copy, microbatches] : llvm::enumerate(plan.microbatchesOf))
    for (int64_t m : microbatches)
      copyOf[m] = copy;
  Order order;
  for (Action action : plan.data.ranks[rank]) {
    if (action.kind == ActionKind::Update)
      continue;
    action.stage += copyOf[action.microbatch] * plan.numStages;
    action.microbatch /= plan.pipelines;
    action.paired = false;
    order.push_back(action);
  }
  return order;
}

static RankOrder compress(const Order &order, int64_t microbatches) {
  llvm::SmallSetVector<std::pair<char, int64_t>, 8> cases;
  for (const Action &action : order)
    cases.insert({letter(action.kind), action.stage});
  size_t most = std::min(kMostBodiesPerCase * cases.size(), order.size() / 2);
  if (auto loops = compressOrder(order, microbatches, most))
    return {std::move(*loops), {}, {}};
  RankOrder table;
  for (const Action &action : order)
    table.rows.push_back({{action.kind, action.stage}, action.microbatch});
  return table;
}

static void readDevices(Plan &plan) {
  llvm::StringMap<int64_t> nodeOf;
  pipeline::ClusterOp cluster = pipeline::clusterOf(plan.program);
  for (auto device : cluster.getBody().getOps<pipeline::DeviceOp>())
    nodeOf[device.getSymName()] = device.getNode();
  llvm::MapVector<int64_t, int64_t> numberOf; // host of a used node
  for (StringRef device : pipeline::devicesOfRanks(plan.program)) {
    plan.deviceOfRank.push_back(device.str());
    plan.nodeOfRank.push_back(nodeOf[device]);
    auto [it, isNew] = numberOf.insert({nodeOf[device], numberOf.size()});
    plan.hostOfRank.push_back(it->second);
  }
  if (numberOf.size() == 1)
    plan.hostOfRank.clear();
}

void readOrders(Plan &plan) {
  readDevices(plan);
  plan.orders.resize(plan.data.ranks.size());
  if (!plan.credits.empty()) {
    for (auto [rank, order] : llvm::enumerate(plan.orders))
      order.lanes = lanesOf(orderOfCopies(plan, rank), plan.numStages);
    return;
  }
  if (auto segments = matchFamily(plan)) {
    for (auto [order, loops] : llvm::zip_equal(plan.orders, *segments))
      order.loops = std::move(loops);
    return;
  }
  for (auto [rank, order] : llvm::enumerate(plan.orders))
    order = compress(orderOfCopies(plan, rank), plan.microbatchesOfRank(rank));
}

} // namespace stagewright::torank
