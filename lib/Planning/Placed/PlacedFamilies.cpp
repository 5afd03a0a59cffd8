//===- PlacedFamilies.cpp - schedules and placements to choose from -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedSearch.h"
#include "Placed/RankMemory.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Scheduling/Replicas.h"
#include "stagewright/Support/Parallel.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace stagewright {

/// Max number of even cuts that are timed, that are then evaluated with all
/// replicas, and that are then improved: each time the best of the step before.
static constexpr size_t kMostTimed = 48, kMostEvaluated = 6, kMostImproved = 3;

namespace {
/// One placement of stages with one number of pipelines.
struct Candidate {
  PlacedRequest request;
  std::vector<int64_t> ends;
  double bound = 0;    ///< Lower bound for all schedules of this cut.
  double estimate = 0; ///< `bound`, plus filling and draining.
  std::optional<CutCost> cost;
  Seconds time; ///< With all replicas.
};

/// What has been timed.
struct Timed {
  double best = std::numeric_limits<double>::infinity(); ///< Of those that fit.
  size_t count = 0;
  /// By placement and chunks: the most ranks of a cut that does not fit.
  std::map<std::pair<Placement, int64_t>, int64_t> lacking;
};

/// Searches the plans of a family.
class Families {
public:
  Families(const Problem &problem, const Network &network,
           const PlacedFamily &family)
      : problem(problem), network(network), family(family),
        devices(int64_t(problem.cluster.devices.size())),
        gradients(problem.gradients()),
        classOf(problem.cluster.classOfDevices()), index(problem) {}

  /// See planPlacedBelow().
  Result<std::optional<Plan>> best(Seconds limit);
  Seconds bound();

private:
  void enumerate();
  void add(const StagePlacement &where, int64_t pipelines);
  bool splitsBackward() const;
  std::vector<PipelineShape> shapes() const;
  bool dropSlow(Seconds limit);
  Result<Plan> bestOfCandidates();
  int64_t mostPipelines(const StagePlacement &where) const;
  double sumsOf(int64_t ranks, int64_t pipelines);
  void estimate(Candidate &candidate);
  bool hasRoom(const Candidate &candidate, bool asHeld);
  void timeCuts();
  void timeSome(const std::vector<Candidate *> &some, Timed &timed,
                std::vector<Candidate *> *later);
  std::vector<Result<CutCost>> costsOf(const std::vector<Candidate *> &some);
  Seconds leastTime() const;
  const Problem &first(int64_t pipelines);
  PlacedSearch search(const Candidate &candidate);

  const Problem &problem;
  const Network &network;
  const PlacedFamily &family;
  int64_t devices;
  Bytes gradients;                  ///< Each once.
  std::vector<size_t> classOf;      ///< By device.
  std::vector<SlowestPair> slowest; ///< Of the first 1, 2, ... devices.
  LayerIndex index;
  std::vector<Candidate> candidates;
  std::map<int64_t, Problem> firsts; ///< By number of pipelines.
};
} // namespace

const Problem &Families::first(int64_t pipelines) {
  auto found = firsts.find(pipelines);
  if (found == firsts.end())
    found = firsts.emplace(pipelines, firstOf(problem, pipelines)).first;
  return found->second;
}

PlacedSearch Families::search(const Candidate &candidate) {
  return {first(candidate.request.pipelines), network, candidate.request,
          candidate.request.generators};
}

/// Whether all devices are equal. Replicas of a stage require that: they are on
/// neighbouring devices.
static bool areAlike(const Cluster &cluster) {
  const Device &front = cluster.devices.front();
  return std::all_of(cluster.devices.begin(), cluster.devices.end(),
                     [&](const Device &device) {
                       return device.deviceClass == front.deviceClass &&
                              device.memory == front.memory;
                     });
}

int64_t Families::mostPipelines(const StagePlacement &where) const {
  if (where.placement == Placement::Twin || !areAlike(problem.cluster))
    return family.pipelines > 1 ? 0 : 1;
  int64_t most = std::min(devices / where.ranks, problem.microbatches);
  if (family.pipelines > 0)
    return family.pipelines <= most ? family.pipelines : 0;
  return problem.maxReplicas > 0 ? std::min(most, problem.maxReplicas) : most;
}

/// Adds every placement for which a generator is defined.
void Families::enumerate() {
  auto layers = int64_t(problem.layers.size());
  for (Placement placement :
       {Placement::Linear, Placement::Loop, Placement::V, Placement::Twin}) {
    if (family.placement && placement != *family.placement)
      continue;
    for (int64_t chunks = 1; chunks <= layers; ++chunks) {
      if (family.chunks > 0 && chunks != family.chunks)
        continue;
      // With one stage per device all placements but twin are the same.
      bool isLinear = placement == Placement::Linear;
      bool isTwin = placement == Placement::Twin;
      if (!family.placement && !isTwin && (chunks == 1) != isLinear)
        continue;
      if (isTwin && chunks > 1)
        break;
      for (int64_t ranks = family.leastRanks; ranks <= devices; ++ranks) {
        StagePlacement where = {placement, ranks, chunks};
        // A loop may have any number of stages (`spare` devices have one less):
        // take the number requested, else the max.
        int64_t most = problem.stages > 0 ? problem.stages : layers;
        if (placement == Placement::Loop && chunks > 1 && family.chunks == 0 &&
            where.numStages() > most && where.numStages() - most < ranks)
          where.spare = where.numStages() - most;
        if (where.numStages() > std::min(most, layers) ||
            (problem.stages > 0 && where.numStages() != most))
          continue;
        // On one device, all chunks are equivalent to one stage.
        if ((isTwin && ranks % 2 != 0) ||
            (ranks == 1 && chunks > 1 && devices > 1))
          continue;
        if (int64_t pipelines = mostPipelines(where); pipelines > 0)
          add(where, pipelines);
      }
    }
  }
}

void Families::add(const StagePlacement &where, int64_t pipelines) {
  Candidate candidate;
  candidate.request = {where, {}, pipelines};
  for (const Generator &generator : family.generators)
    if (fits(generator, where))
      candidate.request.generators.push_back(generator);
  if (!candidate.request.generators.empty())
    candidates.push_back(std::move(candidate));
}

/// Seconds to sum all gradients over pipelines side by side, if each rank sums
/// an equal part of them.
double Families::sumsOf(int64_t ranks, int64_t pipelines) {
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

/// Makes the even cut, and sets `bound` to the work of the busiest rank on all
/// its microbatches, or to that of the average forward and sum of gradients,
/// which cannot overlap (PlacedBound.cpp), if that is more. For `estimate`,
/// filling and draining add a chunk of one microbatch per other rank, or a
/// third of it if backwards are split.
void Families::estimate(Candidate &candidate) {
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

/// Microbatches that a rank holds at least under all schedules of `request`: in
/// a pipeline that goes along the ranks, one for each rank from this one on, as
/// in 1F1B. In loops, stages of a rank do not hold the most at the same time.
static int64_t leastHeld(const PlacedRequest &request, int64_t rank,
                         int64_t microbatches) {
  const StagePlacement &where = request.where;
  bool isKnown =
      where.placement == Placement::Linear &&
      std::none_of(request.generators.begin(), request.generators.end(),
                   [](const Generator &g) { return g.isSearched; });
  return isKnown ? std::min(where.ranks - rank, microbatches) : 1;
}

/// Whether devices have the memory for the even cut with one microbatch in
/// flight on every rank, or (`asHeld`) with leastHeld(), all layers at their
/// stated or, if allowed, highest recomputation level.
bool Families::hasRoom(const Candidate &candidate, bool asHeld) {
  const auto &[where, generators, pipelines] = candidate.request;
  if (where.placement == Placement::Twin)
    return true;
  int64_t microbatches = microbatchesOf(0, pipelines, problem.microbatches);
  std::vector<RankMemory> memory(where.ranks);
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
    memory[rank].add(
        stageMemory(problem, index, stage),
        ByLife(problem.forwardOnly ? 0
               : asHeld ? leastHeld(candidate.request, rank, microbatches)
                        : 1),
        problem.microbatches);
  }
  for (int64_t r = 0; r < where.ranks; ++r)
    if (memory[r].total() > problem.cluster.devices[r * pipelines].memory)
      return false;
  return true;
}

/// Times the most promising even cuts, each in its fastest schedule, and sorts
/// them; drops the others. As long as none fits in memory, these come last:
/// those that only fit with uneven stages, if at all, and those with no more
/// ranks than one that does not fit, and the same placement and chunks.
void Families::timeCuts() {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate &a, const Candidate &b) {
                     return a.estimate < b.estimate;
                   });
  Timed timed;
  std::vector<Candidate *> now, later;
  for (Candidate &candidate : candidates)
    now.push_back(&candidate);
  timeSome(now, timed, &later);
  timeSome(later, timed, nullptr);
  std::erase_if(candidates, [](const Candidate &c) { return !c.cost; });
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate &a, const Candidate &b) { return *a.cost < *b.cost; });
}

/// Times `some` candidates, in order, and adds to `later` those that come last.
/// Several are timed at once: those are dropped that would not have been timed
/// one after the other.
void Families::timeSome(const std::vector<Candidate *> &some, Timed &timed,
                        std::vector<Candidate *> *later) {
  auto waits = [&](const Candidate &candidate) {
    if (!later || !std::isinf(timed.best))
      return false;
    const StagePlacement &where = candidate.request.where;
    auto lacking = timed.lacking.find({where.placement, where.chunks});
    return (lacking != timed.lacking.end() && where.ranks <= lacking->second) ||
           !hasRoom(candidate, /*asHeld=*/true);
  };
  for (auto next = some.begin(); next != some.end();) {
    std::vector<Candidate *> together;
    size_t most = std::min(numThreads(), kMostTimed - timed.count);
    for (; next != some.end() && together.size() < most; ++next) {
      if ((*next)->bound >= timed.best || !hasRoom(**next, /*asHeld=*/false))
        continue;
      if (waits(**next) && !together.empty())
        break; // The ones before it decide.
      (waits(**next) ? *later : together).push_back(*next);
    }
    if (together.empty())
      break;
    std::vector<Result<CutCost>> costs = costsOf(together);
    for (size_t i = 0; i < costs.size(); ++i) {
      Candidate &candidate = *together[i];
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
Families::costsOf(const std::vector<Candidate *> &some) {
  std::vector<PlacedSearch> searches;
  for (const Candidate *candidate : some)
    searches.push_back(search(*candidate));
  std::vector<Result<CutCost>> costs(some.size(), Error{});
  forEachInParallel(some.size(), [&](size_t i) {
    costs[i] = searches[i].costOf(some[i]->ends);
  });
  return costs;
}

bool Families::splitsBackward() const {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const Candidate &candidate) {
                       const auto &all = candidate.request.generators;
                       return std::any_of(all.begin(), all.end(),
                                          [](const Generator &generator) {
                                            return generator.splitsBackward;
                                          });
                     });
}

/// Those of all candidates, each once, whatever their chunks.
std::vector<PipelineShape> Families::shapes() const {
  std::set<std::pair<int64_t, int64_t>> distinct;
  for (const Candidate &candidate : candidates)
    distinct.insert(
        {candidate.request.where.ranks, candidate.request.pipelines});
  std::vector<PipelineShape> shapes;
  for (auto [ranks, pipelines] : distinct)
    shapes.push_back({ranks, pipelines});
  return shapes;
}

/// A lower bound on the time of all candidates, also after improvement;
/// infinite if none has the memory.
Seconds Families::leastTime() const {
  for (const Candidate &candidate : candidates)
    if (candidate.request.where.placement == Placement::Twin)
      return workLowerBound(problem);
  return placedLowerBound(problem, network, shapes(), splitsBackward());
}

/// Drops candidates that stay at `limit` or above, also after improvement.
/// Returns whether there were any.
bool Families::dropSlow(Seconds limit) {
  std::set<std::pair<int64_t, int64_t>> kept;
  for (auto [ranks, pipelines] :
       shapesBelow(problem, network, shapes(), splitsBackward(), limit))
    kept.insert({ranks, pipelines});
  return std::erase_if(candidates, [&](const Candidate &candidate) {
           const auto &[where, generators, pipelines] = candidate.request;
           return where.placement != Placement::Twin &&
                  !kept.contains({where.ranks, pipelines});
         }) > 0;
}

Seconds Families::bound() {
  enumerate();
  return candidates.empty() ? Seconds(std::numeric_limits<double>::infinity())
                            : leastTime();
}

Result<std::optional<Plan>> Families::best(Seconds limit) {
  enumerate();
  if (candidates.empty())
    return noShape(problem, family);
  Seconds bound = leastTime();
  // If no candidate has the memory, the error says so.
  bool dropped = std::isfinite(limit.value) && std::isfinite(bound.value) &&
                 dropSlow(limit);
  if (candidates.empty())
    return std::optional<Plan>();
  Result<Plan> best = bestOfCandidates();
  if (dropped && !(best && best->time < limit))
    return std::optional<Plan>();
  best = withMemory(problem, network, family.generators, std::move(best));
  if (!best)
    return best.error();
  best->familyBound = boundOf(bound, best->time);
  return std::optional(std::move(*best));
}

Result<Plan> Families::bestOfCandidates() {
  for (Candidate &candidate : candidates)
    estimate(candidate);
  timeCuts();
  if (candidates.empty())
    return Error{"no schedule of those asked for fits in memory and is defined "
                 "for " +
                 std::to_string(problem.microbatches) +
                 " microbatches; use more devices or another number"};
  candidates.resize(std::min(candidates.size(), kMostEvaluated));
  Result<Plan> best = Error{};
  auto take = [&](Result<Plan> plan) {
    bool isFirst = !best && best.error().message.empty();
    if (plan ? !best || plan->time < best->time : isFirst)
      best = std::move(plan);
  };
  std::vector<PlacedSearch> searches;
  for (const Candidate &candidate : candidates)
    searches.push_back(search(candidate));
  std::vector<Result<Plan>> plans(candidates.size(), Error{});
  forEachInParallel(plans.size(), [&](size_t i) {
    plans[i] = planOf(problem, network, searches[i], candidates[i].ends);
  });
  std::vector<std::pair<double, size_t>> byTime;
  for (size_t i = 0; i < plans.size(); ++i) {
    byTime.push_back({plans[i] ? plans[i]->time.value
                               : std::numeric_limits<double>::infinity(),
                      i});
    take(std::move(plans[i]));
  }
  std::sort(byTime.begin(), byTime.end());
  byTime.resize(std::min(byTime.size(), kMostImproved));
  std::vector<std::optional<Result<Plan>>> improved(byTime.size());
  forEachInParallel(improved.size(), [&](size_t number) {
    size_t i = byTime[number].second;
    std::vector<int64_t> ends = searches[i].improve(
        candidates[i].ends, kMostActions / int64_t(kMostImproved));
    if (ends != candidates[i].ends)
      improved[number] = planOf(problem, network, searches[i], ends);
  });
  for (std::optional<Result<Plan>> &plan : improved)
    if (plan)
      take(std::move(*plan));
  return best;
}

Result<std::optional<Plan>> planPlacedBelow(const Problem &problem,
                                            const PlacedFamily &family,
                                            Seconds limit) {
  if (problem.offload == OffloadChoice::All)
    return Error{
        "offload=all is planned for one stage on each device in the "
        "schedules 1f1b, gpipe, window and early-backward, and these share "
        "devices or have another one; leave out offload=, or chunks=, "
        "placement= and schedule="};
  Result<Network> network = checkedNetwork(problem);
  if (!network)
    return network.error();
  return Families(problem, *network, family).best(limit);
}

Result<Plan> planPlaced(const Problem &problem, const PlacedFamily &family) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Result<std::optional<Plan>> plan =
      planPlacedBelow(problem, family, Seconds(kNone));
  return plan ? Result<Plan>(std::move(**plan)) : plan.error();
}

Result<Seconds> placedFamilyBound(const Problem &problem,
                                  const PlacedFamily &family) {
  Result<Network> network = checkedNetwork(problem);
  if (!network)
    return network.error();
  return Families(problem, *network, family).bound();
}

} // namespace stagewright
