//===- TimeCuts.cpp - even cuts, estimated and timed ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedFamilies.h"
#include "Placed/RankMemory.h"
#include "stagewright/Support/Parallel.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Max number of even cuts that are timed.
static constexpr size_t kMostTimed = 48;

/// Seconds to sum all gradients over pipelines side by side, if each rank sums
/// an equal part of them.
double PlacedFamilies::sumsOf(int64_t ranks, int64_t pipelines) {
  if (problem.forwardOnly || pipelines < 2)
    return 0;
  while (int64_t(slowest.size()) < pipelines) {
    SlowestPair pair = slowest.empty() ? SlowestPair() : slowest.back();
    for (size_t device = 0; device < slowest.size(); ++device)
      pair.add(network, device, slowest.size());
    slowest.push_back(pair);
  }
  return allReduceTime(slowest[size_t(pipelines) - 1], size_t(pipelines),
                       Bytes(gradients.value / ranks))
      .value;
}

/// Makes the even cut. Sets `bound` to the larger of two times: that of all
/// microbatches on the busiest rank; and that of the forwards of an average
/// rank plus the sum of gradients, which cannot overlap (PlacedBound.cpp).
/// `estimate` adds the time to fill and drain the pipeline: for every other
/// rank one microbatch on a chunk, or a third of that if backwards are split.
void PlacedFamilies::estimate(CutCandidate &candidate) {
  const auto &[where, generators, pipelines] = candidate.request;
  candidate.ends = evenCut(problem, candidate.request);
  std::vector<double> work(where.ranks, 0);
  double forward = 0;
  for (size_t s = 0; s < candidate.ends.size(); ++s) {
    int64_t rank =
        rankOf(where.placement, where.ranks, where.chunks, int64_t(s));
    size_t number = classOf[rank * pipelines];
    for (int64_t layer = s == 0 ? 0 : candidate.ends[s - 1];
         layer < candidate.ends[s]; ++layer) {
      const StageTimes &times = problem.layers[layer].times[number];
      work[rank] += times.total().value;
      forward += times.forward.value;
    }
  }
  double busiest = *std::max_element(work.begin(), work.end());
  bool halves = std::any_of(
      generators.begin(), generators.end(),
      [](const Generator &generator) { return generator.splitsBackward; });
  int64_t microbatches = microbatchesOf(0, pipelines, problem.microbatches);
  candidate.bound =
      std::max(double(microbatches) * busiest,
               double(microbatches) * forward / double(where.ranks) +
                   sumsOf(where.ranks, pipelines));
  candidate.estimate = candidate.bound + double(where.ranks - 1) * busiest /
                                             double(where.chunks) /
                                             (halves ? 3 : 1);
}

/// Min number of microbatches that a rank holds at its peak under any schedule
/// of `request`: in a linear pipeline, one for each rank from this one on, as
/// in 1F1B. Only one is certain if a schedule is searched, which may hold
/// fewer, and in other placements: stages of a rank do not hold the most at the
/// same time.
static int64_t leastHeld(const PlacedRequest &request, int64_t rank,
                         int64_t microbatches) {
  const StagePlacement &where = request.where;
  bool isKnown =
      where.placement == Placement::Linear &&
      std::none_of(request.generators.begin(), request.generators.end(),
                   [](const Generator &g) { return g.isSearched; });
  return isKnown ? std::min(where.ranks - rank, microbatches) : 1;
}

/// Compares the memory of the devices with that of the even cut, all layers at
/// their stated or, if allowed, highest recomputation level.
CutRoom PlacedFamilies::roomOf(const CutCandidate &candidate) {
  const auto &[where, generators, pipelines] = candidate.request;
  if (where.placement == Placement::Twin)
    return {};
  int64_t microbatches = microbatchesOf(0, pipelines, problem.microbatches);
  std::vector<RankMemory> held(where.ranks), one(where.ranks);
  for (size_t s = 0; s < candidate.ends.size(); ++s) {
    StagePlan stage =
        stageOf(s == 0 ? 0 : candidate.ends[s - 1], candidate.ends[s], {});
    for (int64_t layer : stage.layers) {
      auto highest = int64_t(problem.layers[layer].levels.size());
      stage.levels.push_back(problem.level >= 0
                                 ? std::min(problem.level, highest)
                             : problem.recompute ? highest
                                                 : 0);
    }
    int64_t rank =
        rankOf(where.placement, where.ranks, where.chunks, int64_t(s));
    StageMemory memory = stageMemory(problem, index, stage);
    auto add = [&](RankMemory &own, int64_t inFlight) {
      own.add(memory, ByLife(problem.forwardOnly ? 0 : inFlight),
              problem.microbatches);
    };
    add(held[rank], leastHeld(candidate.request, rank, microbatches));
    add(one[rank], 1);
  }
  CutRoom room;
  double needed = 0, all = 0;
  for (int64_t r = 0; r < where.ranks; ++r) {
    Bytes own = problem.cluster.devices[r * pipelines].memory;
    room.each &= held[r].total() <= own;
    needed += double(one[r].total().value);
    all += double(own.value);
  }
  room.together = needed <= all;
  return room;
}

/// Times the most promising even cuts, each in its fastest schedule, and sorts
/// them; drops the others. Two kinds of cuts come last: those that fit only
/// with uneven stages, if at all; and, until some cut fits in memory, those
/// with the same placement and chunks as a cut that does not fit, and no more
/// ranks.
void PlacedFamilies::timeCuts() {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const CutCandidate &a, const CutCandidate &b) {
                     return a.estimate < b.estimate;
                   });
  TimedCuts timed;
  std::vector<CutCandidate *> now, later;
  for (CutCandidate &candidate : candidates)
    now.push_back(&candidate);
  timeSome(now, timed, &later);
  timeSome(later, timed, nullptr);
  std::erase_if(candidates, [](const CutCandidate &c) { return !c.cost; });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const CutCandidate &a, const CutCandidate &b) {
                     return *a.cost < *b.cost;
                   });
}

/// Times the candidates of `some`, in order, and adds those that come last to
/// `later`. Several are timed at once, with the result of timing them one by
/// one: times of candidates that would then have been left out or added to
/// `later` are discarded.
void PlacedFamilies::timeSome(const std::vector<CutCandidate *> &some,
                              TimedCuts &timed,
                              std::vector<CutCandidate *> *later) {
  auto waits = [&](const CutCandidate &candidate) {
    if (!later || !std::isinf(timed.best))
      return false;
    const StagePlacement &where = candidate.request.where;
    auto lacking = timed.lacking.find({where.placement, where.chunks});
    return lacking != timed.lacking.end() && where.ranks <= lacking->second;
  };
  for (auto next = some.begin(); next != some.end();) {
    std::vector<CutCandidate *> together;
    size_t most = std::min(numThreads(), kMostTimed - timed.count);
    for (; next != some.end() && together.size() < most; ++next) {
      if ((*next)->bound >= timed.best || leaveOut((*next)->bound))
        continue;
      if (!(*next)->room)
        (*next)->room = roomOf(**next);
      if (!(*next)->room->together)
        continue;
      if (later && !(*next)->room->each) {
        later->push_back(*next);
        continue;
      }
      if (waits(**next) && !together.empty())
        break; // The ones before it decide.
      (waits(**next) ? *later : together).push_back(*next);
    }
    if (together.empty())
      break;
    std::vector<Result<CutCost>> costs = costsOf(together);
    for (size_t i = 0; i < costs.size(); ++i) {
      CutCandidate &candidate = *together[i];
      const StagePlacement &where = candidate.request.where;
      // No schedule for this number of microbatches, or too slow.
      if (!costs[i] || candidate.bound >= timed.best)
        continue;
      if (waits(candidate)) {
        later->push_back(&candidate);
        continue;
      }
      ++timed.count;
      candidate.cost = *costs[i];
      int64_t &lacking = timed.lacking[{where.placement, where.chunks}];
      if (costs[i]->excess == 0)
        timed.best = std::min(timed.best, costs[i]->time.value);
      else
        lacking = std::max(lacking, where.ranks);
    }
  }
}

/// The costs of the even cuts of `some` candidates.
std::vector<Result<CutCost>>
PlacedFamilies::costsOf(const std::vector<CutCandidate *> &some) {
  std::vector<PlacedSearch> searches;
  for (const CutCandidate *candidate : some)
    searches.push_back(search(*candidate));
  std::vector<Result<CutCost>> costs(some.size(), Error{});
  forEachInParallel(some.size(), [&](size_t i) {
    costs[i] = searches[i].costOf(some[i]->ends);
  });
  return costs;
}

} // namespace stagewright
