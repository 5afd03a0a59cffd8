//===- Buckets.cpp - gradients that one all-reduce sums -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage on several ranks has a part of its gradients on each. The parts are
// summed in buckets, as by PyTorch's DistributedDataParallel (Li et al.,
// "PyTorch Distributed", VLDB 2020): gradients are put into buckets in the
// order in which they are complete, so that the first buckets are sent while
// the rest of the backward runs. All ranks start the buckets in one order: if a
// later bucket is complete first on a rank, it starts after the earlier ones.
// Ranks that gather values begin buckets such that all buckets and gathers have
// one order, where possible during the backward, else at the end of the step.
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "llvm/ADT/IntEqClasses.h"
#include <set>

namespace stagewright::torank {

namespace {

/// When a part of a gradient is complete on its rank: after a node of an
/// action, where actions are counted from the end of the order.
struct Moment {
  int64_t action = 0; ///< Negative; 0: at the end of the step.
  int64_t part = 0;   ///< Of the action (Plan::partsOf()).
  unsigned position = 0;
  BucketPlan::Start start;

  friend bool operator<(const Moment &a, const Moment &b) {
    return std::tie(a.action, a.part, a.position) <
           std::tie(b.action, b.part, b.position);
  }
};

/// Finds the last addition to each accumulator on each rank.
class Moments {
public:
  explicit Moments(const Plan &plan) : plan(plan) {
    for (int64_t rank = 0; rank < plan.numRanks(); ++rank) {
      std::map<ActionKey, Moment> last;
      Order order = orderOfCopies(plan, rank);
      for (auto [index, action] : llvm::enumerate(order))
        for (auto [part, key] :
             llvm::enumerate(plan.partsOf({action.kind, action.stage})))
          last[key] = {int64_t(index) - int64_t(order.size()),
                       int64_t(part),
                       0,
                       {false, key, 0, action.microbatch}};
      for (const auto &[key, moment] : last)
        if (auto action = plan.actions.find(key); action != plan.actions.end())
          addSums(action->second, rank, moment);
    }
  }

  /// The moment of the only part of `result` on `rank`; the end of the step if
  /// it has several parts.
  Moment of(int64_t result, int64_t rank) const {
    return plan.sumsOf(result, rank).count == 1 ? last.lookup({result, rank})
                                                : Moment();
  }

private:
  void addSums(const ActionPlan &action, int64_t rank, Moment moment) {
    auto add = [&](int64_t result, unsigned position) {
      moment.position = moment.start.position = position;
      auto [latest, isNew] = last.try_emplace({result, rank}, moment);
      if (latest->second < moment)
        latest->second = moment;
    };
    for (auto [position, node] : llvm::enumerate(action.nodes))
      for (auto [ignored, result] : node.accumulated)
        add(result, position);
    for (auto [argument, result] : action.passedThrough)
      add(result, action.nodes.size());
  }

  const Plan &plan;
  llvm::DenseMap<std::pair<int64_t, int64_t>, Moment> last; ///< (result, rank).
};

/// The ranks that sum `result` together. None if it is not an accumulated
/// gradient, or if no stage that adds to it is on several ranks: then the owner
/// adds the parts.
SmallVector<int64_t> ranksOf(const Plan &plan, int64_t result) {
  pipeline::GraphOp graph = plan.graph;
  if (!plan.isAccumulated(result) ||
      resultRole(graph, result) != pipeline::Role::Gradient)
    return {};
  std::map<int64_t, int64_t> rankOf; ///< By stage of the program.
  SmallVector<int64_t> ranks;
  bool shared = false;
  for (const AccumulatorPlan &part : plan.accumulators) {
    if (part.result != result)
      continue;
    int64_t rank = plan.rankOfStage[part.stage];
    auto [known, isNew] =
        rankOf.try_emplace(plan.originalStage(part.stage), rank);
    shared |= known->second != rank;
    ranks.push_back(rank);
  }
  if (!shared)
    return {};
  llvm::sort(ranks);
  ranks.erase(llvm::unique(ranks), ranks.end());
  return ranks;
}

/// Where a rank begins a sum among the gathers of its team: action, part of the
/// action (Plan::partsOf()), and the number of gathers of that part that begin
/// before. Ranks of a team run the same actions, so their places can be
/// compared.
using SumPlace = std::array<int64_t, 3>;

/// Moves the begins of sums such that all sums and gathers have one order that
/// suits every rank. Ranks are a team if gathers link them. Sums begin in the
/// order of buckets, on a rank and on the ranks of a team. The ranks of a team
/// that all gather together begin the same gathers in the same order; if teams
/// have several groups, such as the rows and columns of a grid, a sum begins
/// before or after all gathers of a part of an action.
class GatherOrder {
public:
  explicit GatherOrder(const Plan &plan)
      : plan(plan), teamOf(unsigned(plan.numRanks())) {
    for (const auto &[value, made] : plan.values)
      if (made.gather >= 0 && made.beginsGather)
        begun[made.made].push_back(made.madeAt);
    for (auto &[key, positions] : begun)
      llvm::sort(positions);
    for (const GatherPlan &gather : plan.gathers)
      for (int64_t rank : gather.ranks)
        teamOf.join(unsigned(gather.ranks.front()), unsigned(rank));
    teamOf.compress();
    for (const GatherPlan &gather : plan.gathers)
      groups[team(gather.ranks.front())].insert(gather.ranks);
  }

  /// Delays the `moments` of the next bucket, by rank, as far as needed. They
  /// become the end of the step if that is the only such place.
  void settle(std::map<int64_t, Moment> &moments) {
    if (!delay(moments))
      for (auto &[rank, moment] : moments)
        moment = Moment();
    for (auto &[rank, moment] : moments) {
      last[rank] = moment;
      SumPlace &latest = begins.try_emplace(team(rank), kFirst).first->second;
      latest = std::max(latest, placeOf(rank, moment));
    }
  }

private:
  static constexpr SumPlace kFirst = {INT64_MIN, 0, 0};

  unsigned team(int64_t rank) const { return teamOf[unsigned(rank)]; }

  bool delay(std::map<int64_t, Moment> &moments) const {
    std::map<unsigned, SumPlace> places; // By team.
    for (auto &[rank, moment] : moments) {
      if (auto known = last.find(rank);
          known != last.end() && moment < known->second)
        moment = known->second;
      auto positions = begun.find(moment.start.key);
      SumPlace place = placeOf(rank, moment);
      if (!moment.start.atEnd && place[2] > 0 && hasGroups(rank))
        moment.position = moment.start.position =
            std::max(moment.position, positions->second.back());
      if (auto known = begins.find(team(rank));
          known != begins.end() && place < known->second &&
          !moveTo(rank, known->second, moment))
        return false;
      place = placeOf(rank, moment);
      if (places.try_emplace(team(rank), place).first->second != place)
        return false;
    }
    return true;
  }

  bool hasGroups(int64_t rank) const {
    auto found = groups.find(team(rank));
    return found != groups.end() && found->second.size() > 1;
  }

  SumPlace placeOf(int64_t rank, const Moment &moment) const {
    auto found = begun.find(moment.start.key);
    int64_t count = 0;
    if (!moment.start.atEnd && found != begun.end())
      count = llvm::count_if(found->second, [&](unsigned position) {
        return position <= moment.position;
      });
    return {moment.action, moment.part,
            hasGroups(rank) ? std::min<int64_t>(count, 1) : count};
  }

  /// Moves `moment` of `rank` to the first node of `place`. False if it has no
  /// such node.
  bool moveTo(int64_t rank, const SumPlace &place, Moment &moment) const {
    auto [index, part, count] = place;
    if (index == 0) {
      moment = Moment();
      return true;
    }
    Order order = orderOfCopies(plan, rank);
    const Action &action = order[size_t(index + int64_t(order.size()))];
    auto keys = plan.partsOf({action.kind, action.stage});
    if (part >= int64_t(keys.size()) || !plan.actions.contains(keys[part]))
      return false;
    unsigned position = 0;
    if (auto found = begun.find(keys[part]); found != begun.end() && count > 0)
      position = hasGroups(rank) ? found->second.back()
                                 : found->second[size_t(count) - 1];
    Moment moved = {index,
                    part,
                    position,
                    {false, keys[part], position, action.microbatch}};
    if (placeOf(rank, moved) != place)
      return false;
    moment = std::max(moment, moved);
    return true;
  }

  const Plan &plan;
  llvm::IntEqClasses teamOf; ///< By rank.
  /// By team: the sets of ranks that gather together.
  std::map<unsigned, std::set<std::vector<int64_t>>> groups;
  std::map<ActionKey, std::vector<unsigned>> begun; ///< Positions of nodes.
  std::map<int64_t, Moment> last; ///< By rank: where its last sum begins.
  /// By team: the latest place of its sums.
  std::map<unsigned, SumPlace> begins;
};

/// A gradient, the moments when its parts are complete on their ranks, and the
/// latest of these.
struct Candidate {
  int64_t result;
  SmallVector<int64_t> ranks;
  std::map<int64_t, Moment> moments; ///< By rank.
  Moment latest;
};

} // namespace

void chooseBuckets(Plan &plan, int64_t bytes) {
  plan.bucketOfResult.assign(plan.rankOfResult.size(), -1);
  if (bytes <= 0)
    return;
  Moments moments(plan);
  std::vector<Candidate> candidates;
  for (int64_t result = 0; result < int64_t(plan.rankOfResult.size());
       ++result) {
    Candidate it{result, ranksOf(plan, result), {}, {}};
    for (int64_t rank : it.ranks) {
      Moment moment = moments.of(result, rank);
      if (it.moments.empty() || it.latest < moment)
        it.latest = moment;
      it.moments[rank] = moment;
    }
    if (!it.ranks.empty())
      candidates.push_back(std::move(it));
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.latest < b.latest;
  });

  // Buckets start in the order of their last gradients. A full bucket gets no
  // more gradients.
  struct Open {
    BucketPlan bucket;
    std::map<int64_t, Moment> moments;
    int64_t size = 0;
    size_t order = 0;
  };
  std::vector<Open> closed;
  std::map<std::pair<std::vector<int64_t>, const void *>, Open> open;
  pipeline::GraphOp graph = plan.graph;
  for (auto [order, it] : llvm::enumerate(candidates)) {
    auto type = cast<RankedTensorType>(graph.getResultTypes()[it.result]);
    std::vector<int64_t> ranks(it.ranks.begin(), it.ranks.end());
    auto key = std::pair(ranks, type.getElementType().getAsOpaquePointer());
    Open &bucket = open[key];
    bucket.bucket.ranks = it.ranks;
    bucket.bucket.results.push_back(it.result);
    bucket.order = order;
    for (auto &[rank, moment] : it.moments) {
      auto [known, isNew] = bucket.moments.try_emplace(rank, moment);
      if (known->second < moment)
        known->second = moment;
    }
    bucket.size += rank::getSlotStride(
        MemRefType::get(type.getShape(), type.getElementType()));
    if (bucket.size >= bytes) {
      closed.push_back(std::move(bucket));
      open.erase(key);
    }
  }
  for (auto &[key, bucket] : open)
    closed.push_back(std::move(bucket));
  llvm::sort(closed,
             [](const Open &a, const Open &b) { return a.order < b.order; });

  GatherOrder gathers(plan);
  for (Open &it : closed) {
    gathers.settle(it.moments);
    for (auto &[rank, moment] : it.moments) {
      it.bucket.starts[rank] = moment.start;
      // Ranks that run what is ready have no common order of actions, so they
      // begin sums at the end of the step.
      it.bucket.starts[rank].atEnd |= !plan.credits.empty();
    }
    for (int64_t result : it.bucket.results)
      plan.bucketOfResult[result] = int64_t(plan.buckets.size());
    plan.buckets.push_back(std::move(it.bucket));
  }
}

} // namespace stagewright::torank
