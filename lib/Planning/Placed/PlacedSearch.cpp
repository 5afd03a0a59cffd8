//===- PlacedSearch.cpp - cuts for several stages on a device -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedSearch.h"
#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewright {

/// Tolerance for rounding: sums are added in another order.
static constexpr double kRounding = 1e-9;

bool CutCost::operator<(const CutCost &other) const {
  if (excess != other.excess)
    return excess < other.excess;
  double allowance = kRounding * std::max(time.value, other.time.value);
  if (std::abs(time.value - other.time.value) > allowance)
    return time < other.time;
  return squares < other.squares * (1 - kRounding);
}

PlacedSearch::PlacedSearch(const Problem &problem, const Network &network,
                           const PlacedRequest &request,
                           const std::vector<Generator> &generators)
    : problem(problem), roomy(problem), curve(problem), network(network),
      request(request), where(request.where), generators(generators),
      actionsOf(generators.size()), sums(problem.cluster.classes().size()) {
  for (Device &device : roomy.cluster.devices)
    device.memory = Bytes(std::numeric_limits<int64_t>::max());
  for (size_t c = 0; c < sums.size(); ++c) {
    StageTimes sum;
    sums[c].push_back(sum);
    for (const Layer &layer : problem.layers) {
      sum.forward += layer.times[c].forward;
      sum.inputGradient += layer.times[c].inputGradient;
      sum.weightGradient += layer.times[c].weightGradient;
      sums[c].push_back(sum);
    }
  }
}

ScheduleShape shapeOf(const Generator &generator,
                      const ScheduleProblem &problem) {
  ScheduleShape shape;
  shape.ranks = problem.ranks;
  shape.microbatches = problem.microbatches;
  shape.forwardOnly = problem.forwardOnly;
  shape.chunks = problem.chunks;
  shape.spare = problem.spare;
  if (generator.isSearched)
    shape.costs = std::make_shared<const ScheduleProblem>(problem);
  double hops = 0, forwards = 0;
  for (Seconds hop : problem.hops)
    hops += hop.value;
  for (const StageCosts &stage : problem.stages)
    forwards += stage.forward.value;
  if (!problem.hops.empty() && forwards > 0)
    shape.hopRatio = hops / double(problem.hops.size()) /
                     (forwards / double(problem.stages.size()));
  return shape;
}

std::vector<StagePlan>
PlacedSearch::stagesOf(const std::vector<int64_t> &ends) const {
  std::vector<StagePlan> stages;
  for (size_t s = 0; s < ends.size(); ++s) {
    auto rank =
        size_t(rankOf(where.placement, where.ranks, where.chunks, int64_t(s)));
    std::vector<size_t> devices = {rank * size_t(pipelines())};
    if (where.placement == Placement::Twin)
      devices.push_back(size_t(where.ranks) - 1 - rank);
    stages.push_back(stageOf(s == 0 ? 0 : ends[s - 1], ends[s], devices));
  }
  return stages;
}

namespace {
/// Stages as intervals of layers, whose loads are differences of sums: they do
/// not fall as an interval grows.
struct StageLoads {
  int64_t layers, count;
  std::vector<std::vector<double>> sums; ///< By device class, of layers [0, l).
  std::vector<size_t> classOf;           ///< By stage.

  double of(int64_t s, int64_t first, int64_t end) const {
    const std::vector<double> &sum = sums[classOf[size_t(s)]];
    return sum[size_t(end)] - sum[size_t(first)];
  }
  /// The last end of stage s that leaves a layer to each later one.
  int64_t lastEnd(int64_t s) const { return layers - (count - 1 - s); }
};
} // namespace

/// The min over all cuts of the max load.
static double leastMaximum(const StageLoads &loads) {
  bool isOneClass = loads.sums.size() == 1;
  std::vector<double> least(size_t(loads.layers) + 1, kInfinity);
  least[0] = 0;
  for (int64_t s = 0; s < loads.count; ++s) {
    std::vector<double> next(least.size(), kInfinity);
    int64_t first = s;
    auto value = [&](int64_t first, int64_t end) {
      return std::max(least[size_t(first)], loads.of(s, first, end));
    };
    for (int64_t end = s + 1; end <= loads.lastEnd(s); ++end) {
      double &best = next[size_t(end)];
      if (!isOneClass) {
        for (first = s; first < end; ++first)
          best = std::min(best, value(first, end));
        continue;
      }
      // The first term does not fall as `first` grows, the second does not
      // rise: the best place is where they cross, or the one before it. As
      // `end` grows, this place never moves back.
      while (first + 1 < end && least[size_t(first)] < loads.of(s, first, end))
        ++first;
      best = value(first, end);
      if (first > s)
        best = std::min(best, value(first - 1, end));
    }
    least = std::move(next);
  }
  return least.back();
}

std::vector<int64_t> evenCut(const Problem &problem,
                             const PlacedRequest &request) {
  const StagePlacement &where = request.where;
  StageLoads loads{int64_t(problem.layers.size()), where.numStages(), {}, {}};
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  loads.sums.resize(problem.cluster.classes().size());
  for (size_t c = 0; c < loads.sums.size(); ++c) {
    loads.sums[c].push_back(0);
    for (const Layer &layer : problem.layers)
      loads.sums[c].push_back(loads.sums[c].back() +
                              layer.times[c].total().value);
  }
  for (int64_t s = 0; s < loads.count; ++s) {
    int64_t rank = rankOf(where.placement, where.ranks, where.chunks, s);
    loads.classOf.push_back(classOf[size_t(rank * request.pipelines)]);
  }
  double most = leastMaximum(loads) * (1 + kRounding);
  // Of the cuts with this max, the one with the least sum of squares; of equal
  // ones the one with the earliest last cuts.
  size_t width = size_t(loads.layers) + 1;
  std::vector<double> least(width, kInfinity);
  least[0] = 0;
  std::vector<std::vector<int64_t>> cuts;
  for (int64_t s = 0; s < loads.count; ++s) {
    std::vector<double> next(width, kInfinity);
    std::vector<int64_t> &cut = cuts.emplace_back(width, -1);
    int64_t begin = s;
    for (int64_t end = s + 1; end <= loads.lastEnd(s); ++end) {
      while (begin < end && loads.of(s, begin, end) > most)
        ++begin;
      for (int64_t first = begin; first < end; ++first) {
        double load = loads.of(s, first, end);
        double value = least[size_t(first)] + load * load;
        if (!(value < next[size_t(end)]))
          continue;
        next[size_t(end)] = value;
        cut[size_t(end)] = first;
      }
    }
    least = std::move(next);
  }
  std::vector<int64_t> ends;
  if (std::isinf(least.back()))
    return ends;
  for (int64_t end = loads.layers; !cuts.empty(); cuts.pop_back()) {
    ends.push_back(end);
    end = cuts.back()[size_t(end)];
  }
  std::reverse(ends.begin(), ends.end());
  return ends;
}

/// Sets in `cost` the bytes missing on all devices together, and the device on
/// which the most are missing.
static void addMemory(const Problem &problem, const std::vector<Bytes> &need,
                      CutCost &cost) {
  int64_t most = std::numeric_limits<int64_t>::min();
  for (size_t device = 0; device < need.size(); ++device) {
    int64_t over =
        need[device].value - problem.cluster.devices[device].memory.value;
    cost.excess += std::max<int64_t>(over, 0);
    if (over <= most)
      continue;
    most = over;
    cost.need = need[device];
    cost.device = device;
  }
}

Result<Schedule>
PlacedSearch::scheduleOf(const std::vector<StagePlan> &stages, size_t generator,
                         Result<ScheduleProblem> &costs) const {
  costs = scheduleProblemOf(roomy, network, stages, where);
  if (!costs)
    return costs.error();
  const Generator &chosen = generators[generator];
  return chosen.generate(shapeOf(chosen, *costs));
}

std::vector<StagePlan> PlacedSearch::stagesOf(const std::vector<int64_t> &ends,
                                              size_t generator) {
  std::vector<StagePlan> stages = stagesOf(ends);
  curve.state(stages);
  Result<ScheduleProblem> costs = Error{};
  if (Result<Schedule> schedule = scheduleOf(stages, generator, costs))
    fitLevels(problem, curve, where, *schedule, stages, &packer);
  return stages;
}

Result<CutCost> PlacedSearch::costWith(const std::vector<int64_t> &ends,
                                       size_t generator) {
  std::vector<StagePlan> stages = stagesOf(ends);
  curve.state(stages);
  Result<ScheduleProblem> costs = Error{};
  Result<Schedule> schedule = scheduleOf(stages, generator, costs);
  if (!schedule)
    return schedule.error();
  int64_t &count = actionsOf[generator] = 0;
  for (const Order &order : schedule->ranks)
    count += int64_t(order.size());
  actions += count;
  fitLevels(problem, curve, where, *schedule, stages, /*packer=*/nullptr);
  bool isLeveled =
      std::any_of(stages.begin(), stages.end(),
                  [](const StagePlan &stage) { return !stage.levels.empty(); });
  if (isLeveled)
    costs = scheduleProblemOf(roomy, network, stages, where);
  if (!costs)
    return costs.error();
  CutCost cost;
  cost.schedule = generator;
  addMemory(problem, memoryOf(problem, stages, where, *schedule), cost);
  Result<Timeline> timing = timeSchedule(*schedule, *costs);
  if (!timing)
    return timing.error();
  cost.time = timing->makespan;
  for (const StageCosts &stage : costs->stages)
    cost.squares += stage.total().value * stage.total().value;
  return cost;
}

Result<std::vector<CutCost>>
PlacedSearch::costsOf(const std::vector<int64_t> &ends) {
  std::vector<CutCost> costs;
  Error error;
  for (size_t g = 0; g < generators.size(); ++g) {
    if (Result<CutCost> cost = costWith(ends, g))
      costs.push_back(*cost);
    else
      error = cost.error();
  }
  if (costs.empty())
    return error;
  std::stable_sort(costs.begin(), costs.end());
  return costs;
}

Result<CutCost> PlacedSearch::costOf(const std::vector<int64_t> &ends) {
  Result<std::vector<CutCost>> costs = costsOf(ends);
  if (!costs)
    return costs.error();
  return costs->front();
}

/// A rank waits until a microbatch has passed the forwards of the stages before
/// its first one, and runs all microbatches. If backwards are not split, one
/// microbatch then still has to pass the backwards of these stages.
/// Recomputation and transfers take no time here.
Seconds PlacedSearch::leastTime(const std::vector<int64_t> &ends,
                                size_t generator) const {
  std::vector<Seconds> work(size_t(where.ranks)), ramp(size_t(where.ranks));
  Seconds before;
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  for (size_t s = 0; s < ends.size(); ++s) {
    auto rank =
        size_t(rankOf(where.placement, where.ranks, where.chunks, int64_t(s)));
    const std::vector<StageTimes> &all =
        sums[classOf[rank * size_t(pipelines())]];
    const StageTimes &first = all[s == 0 ? 0 : size_t(ends[s - 1])],
                     &end = all[size_t(ends[s])];
    Seconds forward = end.forward - first.forward,
            backward = end.total() - first.total() - forward;
    if (problem.forwardOnly)
      backward = Seconds();
    if (work[rank] == Seconds()) // Its first stage.
      ramp[rank] = before;
    work[rank] += forward + backward;
    before += forward;
    if (!generators[generator].splitsBackward)
      before += backward;
  }
  Seconds least;
  for (size_t rank = 0; rank < work.size(); ++rank)
    least =
        std::max(least, ramp[rank] + double(problem.microbatches) * work[rank]);
  return least;
}

/// Whether a cut is certain to cost no less than `best` under its schedule.
/// Counts the actions of a skipped cut as if they were timed.
bool PlacedSearch::skips(const std::vector<int64_t> &ends,
                         const CutCost &best) {
  size_t number = best.schedule;
  if (best.excess > 0 || generators[number].isSearched ||
      where.placement == Placement::Twin || actionsOf[number] == 0 ||
      leastTime(ends, number) <= best.time * (1 + 4 * kRounding))
    return false;
  actions += actionsOf[number];
  return true;
}

std::vector<int64_t> PlacedSearch::improve(std::vector<int64_t> ends,
                                           int64_t mostActions) {
  Result<CutCost> best = costOf(ends);
  bool changed = best.ok();
  mostActions += actions;
  while (changed && actions < mostActions) {
    changed = false;
    for (size_t s = 0; s + 1 < ends.size(); ++s)
      for (int64_t step : {-1, 1}) {
        std::vector<int64_t> moved = ends;
        moved[s] += step;
        bool isEmpty =
            moved[s] <= (s == 0 ? 0 : moved[s - 1]) || moved[s] >= moved[s + 1];
        if (isEmpty || actions >= mostActions || skips(moved, *best))
          continue;
        // Try only the current schedule; try all when no move helps.
        Result<CutCost> cost = costWith(moved, best->schedule);
        if (!cost || !(*cost < *best))
          continue;
        best = cost;
        ends = moved;
        changed = true;
      }
    if (!changed && generators.size() > 1) {
      Result<CutCost> other = costOf(ends);
      changed = other.ok() && *other < *best;
      if (changed)
        best = other;
    }
  }
  return ends;
}

} // namespace stagewright
