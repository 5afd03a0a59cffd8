//===- PlacedFamilies.cpp - schedules and placements to choose from -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedFamilies.h"
#include "stagewright/Scheduling/Replicas.h"
#include "stagewright/Support/Parallel.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace stagewright {

/// Of the timed cuts the best kMostEvaluated are evaluated with all replicas,
/// and of these the best kMostImproved are then improved.
static constexpr size_t kMostEvaluated = 6, kMostImproved = 3;

/// Moving ends of stages gains only a few percent, so cuts that take this many
/// times the limit are left out.
static constexpr double kMostGain = 1.1;

const Problem &PlacedFamilies::first(int64_t pipelines) {
  auto found = firsts.find(pipelines);
  if (found == firsts.end())
    found = firsts.emplace(pipelines, firstOf(problem, pipelines)).first;
  return found->second;
}

PlacedSearch PlacedFamilies::search(const CutCandidate &candidate) {
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

int64_t PlacedFamilies::mostPipelines(const StagePlacement &where) const {
  if (where.placement == Placement::Twin || !areAlike(problem.cluster))
    return family.pipelines > 1 ? 0 : 1;
  int64_t most = std::min(devices / where.ranks, problem.microbatches);
  if (family.pipelines > 0)
    return family.pipelines <= most ? family.pipelines : 0;
  return problem.maxReplicas > 0 ? std::min(most, problem.maxReplicas) : most;
}

/// Adds every placement for which a generator is defined.
void PlacedFamilies::enumerate() {
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

void PlacedFamilies::add(const StagePlacement &where, int64_t pipelines) {
  CutCandidate candidate;
  candidate.request = {where, {}, pipelines};
  for (const Generator &generator : family.generators)
    if (fits(generator, where))
      candidate.request.generators.push_back(generator);
  if (!candidate.request.generators.empty())
    candidates.push_back(std::move(candidate));
}

bool PlacedFamilies::splitsBackward() const {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const CutCandidate &candidate) {
                       const auto &all = candidate.request.generators;
                       return std::any_of(all.begin(), all.end(),
                                          [](const Generator &generator) {
                                            return generator.splitsBackward;
                                          });
                     });
}

/// The shapes of all candidates, each once: chunks do not count.
std::vector<PipelineShape> PlacedFamilies::shapes() const {
  std::set<std::pair<int64_t, int64_t>> distinct;
  for (const CutCandidate &candidate : candidates)
    distinct.insert(
        {candidate.request.where.ranks, candidate.request.pipelines});
  std::vector<PipelineShape> shapes;
  for (auto [ranks, pipelines] : distinct)
    shapes.push_back({ranks, pipelines});
  return shapes;
}

/// A lower bound on the time of all candidates, also after improvement;
/// infinite if none has the memory.
Seconds PlacedFamilies::leastTime() const {
  for (const CutCandidate &candidate : candidates)
    if (candidate.request.where.placement == Placement::Twin)
      return workLowerBound(problem);
  return placedLowerBound(problem, network, shapes(), splitsBackward());
}

/// Drops candidates that take at least `limit` even after improvement. Returns
/// whether there were any.
bool PlacedFamilies::dropSlow(Seconds limit) {
  std::set<std::pair<int64_t, int64_t>> kept;
  for (auto [ranks, pipelines] :
       shapesBelow(problem, network, shapes(), splitsBackward(), limit))
    kept.insert({ranks, pipelines});
  return std::erase_if(candidates, [&](const CutCandidate &candidate) {
           const auto &[where, generators, pipelines] = candidate.request;
           return where.placement != Placement::Twin &&
                  !kept.contains({where.ranks, pipelines});
         }) > 0;
}

Seconds PlacedFamilies::bound() {
  enumerate();
  return candidates.empty() ? Seconds(std::numeric_limits<double>::infinity())
                            : leastTime();
}

Result<std::optional<Plan>> PlacedFamilies::best(Seconds limit) {
  enumerate();
  if (candidates.empty())
    return noShape(problem, family);
  Seconds bound = leastTime();
  // If no candidate has the memory (an infinite bound), keep all of them, so
  // that the error says so.
  if (std::isfinite(limit.value) && std::isfinite(bound.value)) {
    leavesOut = dropSlow(limit);
    slow = kMostGain * limit.value;
  }
  if (candidates.empty())
    return std::optional<Plan>();
  Result<Plan> best = bestOfCandidates();
  if (leavesOut && !(best && best->time < limit))
    return std::optional<Plan>();
  best = withMemory(problem, network, family.generators, std::move(best));
  if (!best)
    return best.error();
  best->familyBound = boundOf(bound, best->time);
  return std::optional(std::move(*best));
}

Result<Plan> PlacedFamilies::bestOfCandidates() {
  for (CutCandidate &candidate : candidates)
    estimate(candidate);
  timeCuts();
  std::erase_if(candidates, [&](const CutCandidate &candidate) {
    return leaveOut(candidate.cost->time.value);
  });
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
  for (const CutCandidate &candidate : candidates)
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
        "schedules 1f1b, gpipe, window and early-backward, not for several "
        "stages on a device or another schedule; leave out offload=, or "
        "chunks=, placement= and schedule="};
  Result<Network> network = checkedNetwork(problem);
  if (!network)
    return network.error();
  return PlacedFamilies(problem, *network, family).best(limit);
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
  return PlacedFamilies(problem, *network, family).bound();
}

} // namespace stagewright
