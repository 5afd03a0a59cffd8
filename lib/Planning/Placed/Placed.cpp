//===- Placed.cpp - plans with several stages on every device -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedSearch.h"
#include "stagewright/Support/Text.h"
#include <algorithm>

namespace stagewright {

/// Checks that there are enough layers and devices, and, for twin placements,
/// that the number of devices is even.
static Status checkRequest(const Problem &problem,
                           const PlacedRequest &request) {
  const StagePlacement &where = request.where;
  if (where.ranks < 1 || where.chunks < 1)
    return Error{"devices and chunks must be at least 1, got " +
                 std::to_string(where.ranks) + " and " +
                 std::to_string(where.chunks)};
  int64_t layers = problem.layers.size();
  int64_t devices = problem.cluster.devices.size();
  // Divide rather than multiply: a large `chunks` would overflow.
  bool twin = where.placement == Placement::Twin;
  int64_t most = twin ? layers : layers / where.chunks;
  if (where.ranks > most)
    return Error{
        counted(where.ranks, "device") +
        (twin ? "" : " with " + counted(where.chunks, "chunk") + " each") +
        " need as many layers as stages, the graph has " +
        std::to_string(layers) +
        "; use fewer devices or chunks, or ask for fewer stages"};
  if (where.ranks > devices / request.pipelines)
    return Error{"the stages need " +
                 counted(where.ranks * request.pipelines, "device") +
                 ", cluster '" + problem.cluster.name + "' has " +
                 std::to_string(devices) +
                 "; ask for fewer stages or a larger cluster"};
  if (twin && where.ranks % 2 != 0)
    return Error{"placement twin pairs every device with its mirror image, so "
                 "their number must be even, got " +
                 std::to_string(where.ranks)};
  return {};
}

/// The error if none of `generators` is defined for `where`.
static Error noGenerator(const std::vector<Generator> &generators,
                         const StagePlacement &where) {
  return Error{
      "no schedule of those asked for runs " + counted(where.chunks, "chunk") +
      " per device placed " + toString(where.placement) + "; " +
      (generators.size() == 1 ? demandOf(generators.front())
                              : "place them loop or v, or ask for one chunk")};
}

/// Those of `generators` that are defined for `where`.
static Result<std::vector<Generator>>
chooseGenerators(const std::vector<Generator> &generators,
                 const StagePlacement &where) {
  std::vector<Generator> chosen;
  for (const Generator &generator : generators)
    if (fits(generator, where))
      chosen.push_back(generator);
  if (chosen.empty())
    return noGenerator(generators, where);
  return chosen;
}

Error noShape(const Problem &problem, const PlacedFamily &family) {
  auto devices = int64_t(problem.cluster.devices.size());
  StagePlacement where = {family.placement.value_or(Placement::Loop), 2,
                          std::max<int64_t>(1, family.chunks)};
  bool isDefined =
      std::any_of(family.generators.begin(), family.generators.end(),
                  [&](const Generator &g) { return fits(g, where); });
  if (family.chunks > 0 && family.placement && !isDefined)
    return noGenerator(family.generators, where);
  if (family.placement == Placement::Twin && devices == 1)
    return Error{"placement twin pairs every device with its mirror image, so "
                 "their number must be even, got 1"};
  std::string layers = std::to_string(problem.layers.size());
  if (problem.stages > int64_t(problem.layers.size()))
    return Error{std::to_string(problem.stages) + " stages need at least " +
                 std::to_string(problem.stages) + " layers, the graph has " +
                 layers + "; ask for fewer stages"};
  return Error{
      "no schedule of those asked for runs " +
      (problem.stages > 0 ? std::to_string(problem.stages) + " stages of "
                          : std::string()) +
      layers + " layers on " + counted(devices, "device") +
      (family.chunks > 0 ? " with " + counted(family.chunks, "chunk") + " each"
                         : "") +
      "; ask for fewer stages or chunks, or a larger cluster"};
}

std::string demandOf(const Generator &generator) {
  std::string chunks = std::to_string(generator.leastChunks);
  std::string text = std::string(generator.name) + " wants ";
  if (generator.placement == Placement::Twin)
    return text + "every stage on two devices: partition with placement=twin";
  if (generator.mostChunks == 1)
    return text + "one stage per device: partition with chunks=1";
  text += generator.mostChunks == generator.leastChunks ? chunks
                                                        : chunks + " or more";
  return text + " chunks per device placed " + toString(generator.placement) +
         ": partition with chunks=" + chunks +
         " placement=" + toString(generator.placement);
}

Result<Plan> planOf(const Problem &whole, const Network &network,
                    PlacedSearch &search, const std::vector<int64_t> &ends) {
  Result<std::vector<CutCost>> costs = search.costsOf(ends);
  if (!costs)
    return costs.error();
  const CutCost &least = costs->front();
  if (least.excess > 0) {
    const Device &device = whole.cluster.devices[least.device];
    return Error{"no cut found that fits in memory; the best one needs " +
                 toString(least.need) + " on device " + device.name + ", has " +
                 toString(device.memory) +
                 "; use more devices, fewer microbatches or a device with " +
                 toString(least.need - device.memory) + " more"};
  }
  // Costs count the bytes held at once. Packed stashes may need more, and then
  // layers recompute more and the plan is slower than its cost.
  Result<Plan> best = Error{};
  for (const CutCost &cost : *costs) {
    if (cost.excess > 0 || (best && !(cost.time < best->time)))
      break;
    Plan plan;
    plan.planner = "placed";
    plan.stages = search.stagesOf(ends, cost.schedule);
    for (StagePlan &stage : plan.stages)
      for (int64_t k = 1; k < search.pipelines(); ++k)
        stage.devices.push_back(stage.devices.front() + size_t(k));
    Status status = timePlaced(whole, network, search.generator(cost.schedule),
                               plan, search.packings());
    if (status && (!best || plan.time < best->time))
      best = std::move(plan);
    if (!status && !best && best.error().message.empty())
      best = status.error();
  }
  return best;
}

Result<Network> checkedNetwork(const Problem &problem) {
  Problem asked = problem;
  asked.stages = 0; // Stages may outnumber devices here.
  if (Status status = asked.check(); !status)
    return status.error();
  return Network::create(problem.cluster);
}

EvenPlan planEvenCut(const Problem &problem, const Network &network,
                     const PlacedRequest &request, Seconds limit) {
  Problem first = firstOf(problem, request.pipelines);
  PlacedSearch search(first, network, request, request.generators);
  std::vector<int64_t> ends = evenCut(first, request);
  Result<CutCost> cost = search.costOf(ends);
  if (!cost)
    return {};
  if (cost->excess > 0)
    return {std::nullopt, cost->need};
  // The plan of all pipelines is never faster than one of them alone.
  if (!(cost->time < limit))
    return {};
  Result<Plan> plan = withMemory(problem, network, request.generators,
                                 planOf(problem, network, search, ends));
  return plan ? EvenPlan{std::move(*plan)} : EvenPlan();
}

Result<Plan> planPlaced(const Problem &problem, const PlacedRequest &request) {
  Result<Network> network = checkedNetwork(problem);
  if (!network)
    return network.error();
  if (Status status = checkRequest(problem, request); !status)
    return status.error();
  auto generators = chooseGenerators(request.generators, request.where);
  if (!generators)
    return generators.error();
  Problem first = firstOf(problem, request.pipelines);
  PlacedSearch search(first, *network, request, *generators);
  return withMemory(
      problem, *network, *generators,
      planOf(problem, *network, search,
             search.improve(evenCut(first, request), kMostActions)));
}

} // namespace stagewright
