//===- Placed.cpp - plans with several stages on every device -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedSearch.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Scheduling/Replicas.h"
#include "stagewright/Scheduling/Timing.h"
#include <algorithm>
#include <map>
#include <set>

namespace stagewright {

static std::string plural(int64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Enough layers and devices, an even number of twins.
static Status checkRequest(const Problem &problem,
                           const PlacedRequest &request) {
  const StagePlacement &where = request.where;
  if (where.ranks < 1 || where.chunks < 1)
    return Error{"devices and chunks must be at least 1, got " +
                 std::to_string(where.ranks) + " and " +
                 std::to_string(where.chunks)};
  int64_t layers = problem.layers.size();
  int64_t devices = problem.cluster.devices.size();
  // Compared by division: chunks may be any number.
  bool twin = where.placement == Placement::Twin;
  int64_t most = twin ? layers : layers / where.chunks;
  if (where.ranks > most)
    return Error{
        plural(where.ranks, "device") +
        (twin ? "" : " with " + plural(where.chunks, "chunk") + " each") +
        " need as many layers as stages, the graph has " +
        std::to_string(layers) +
        "; use fewer devices or chunks, or ask for fewer stages"};
  if (where.ranks > devices / request.pipelines)
    return Error{
        "the stages need " + plural(where.ranks * request.pipelines, "device") +
        ", cluster '" + problem.cluster.name + "' has " +
        std::to_string(devices) + "; ask for fewer stages or a larger cluster"};
  if (twin && where.ranks % 2 != 0)
    return Error{"placement twin pairs every device with its mirror image, so "
                 "their number must be even, got " +
                 std::to_string(where.ranks)};
  return {};
}

/// Those of `generators` that are defined for `where`; the error says what they
/// want.
static Result<std::vector<Generator>>
chooseGenerators(const std::vector<Generator> &generators,
                 const StagePlacement &where) {
  std::vector<Generator> chosen;
  for (const Generator &generator : generators)
    if (fits(generator, where))
      chosen.push_back(generator);
  if (!chosen.empty())
    return chosen;
  std::string wants = "place them loop or v, or ask for one chunk";
  if (generators.size() == 1)
    wants = demandOf(generators.front());
  return Error{"no schedule of those asked for runs " +
               plural(where.chunks, "chunk") + " per device placed " +
               toString(where.placement) + "; " + wants};
}

/// What evaluate() fills in for other plans.
static void describe(const Problem &problem, const ScheduleProblem &costs,
                     const std::vector<Bytes> &memory, Plan &plan) {
  Seconds most;
  std::vector<Seconds> work(problem.cluster.devices.size());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    StagePlan &stage = plan.stages[s];
    const StageCosts &cost = costs.stages[s];
    stage.times = {cost.forward, cost.inputGradient, cost.weightGradient};
    stage.memory = memory[stage.devices.front()];
    // Twins and replicas in turn share the microbatches of a stage; slices are
    // in its times.
    double share =
        stage.rows.empty() ? 1.0 / double(stage.devices.size()) : 1.0;
    for (size_t device : stage.devices)
      work[device] += share * double(costs.microbatches) * cost.total();
  }
  for (Seconds rank : work)
    most = std::max(most, rank);
  plan.planBound = boundOf(most, plan.time);
  plan.familyBound = boundOf(workLowerBound(problem), plan.time);
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

/// What the first of `pipelines` side by side has to do: its share of the
/// microbatches, beside which it holds the inputs and results of all.
static Problem firstOf(const Problem &problem, int64_t pipelines) {
  Problem one = problem;
  one.microbatches = microbatchesOf(0, pipelines, problem.microbatches);
  for (Resident &resident : one.residents)
    if (resident.kind == ResidentKind::PerMicrobatch)
      resident.bytes = Bytes(resident.bytes.value * pipelines);
  return one;
}

/// Gives every stage the devices of all pipelines, and the sums of gradients
/// their time.
static void widen(const Problem &problem, const Network &network,
                  int64_t pipelines, Plan &plan) {
  for (StagePlan &stage : plan.stages)
    for (int64_t k = 1; k < pipelines; ++k)
      stage.devices.push_back(stage.devices.front() + size_t(k));
  Plan timed = plan;
  pipelineOf(problem, network, timed);
  std::map<size_t, Seconds> left; // By the first device of a rank.
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].allReduce = timed.stages[s].allReduce;
    plan.stages[s].tail = timed.stages[s].tail;
    left[plan.stages[s].devices.front()] += plan.stages[s].tail;
  }
  Seconds most;
  for (const auto &[device, tail] : left)
    most = std::max(most, tail);
  plan.time += most;
  plan.value = plan.time.value;
  plan.familyBound = boundOf(workLowerBound(problem), plan.time);
}

Result<PlacedPlan> planPlaced(const Problem &whole,
                              const PlacedRequest &request) {
  Problem asked = whole;
  asked.stages = 0; // Stages may outnumber devices here.
  if (Status status = asked.check(); !status)
    return status.error();
  if (Status status = checkRequest(whole, request); !status)
    return status.error();
  Problem problem = firstOf(whole, request.pipelines);
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  auto generators = chooseGenerators(request.generators, request.where);
  if (!generators)
    return generators.error();

  PlacedSearch search(problem, *network, request, *generators);
  std::vector<int64_t> ends = search.improve(search.start());
  Result<CutCost> cost = search.costOf(ends);
  if (!cost)
    return cost.error();
  if (cost->excess > 0) {
    const Device &device = problem.cluster.devices[cost->device];
    return Error{"no cut found that fits in memory; the best one needs " +
                 toString(cost->need) + " on device " + device.name + ", has " +
                 toString(device.memory) +
                 "; use more devices, fewer microbatches or a device with " +
                 toString(cost->need - device.memory) + " more"};
  }
  PlacedPlan result;
  result.schedule = (*generators)[cost->schedule].name;
  result.plan.planner = "placed";
  result.plan.stages = search.stagesOf(ends, cost->schedule);
  result.plan.time = cost->time;
  result.plan.value = cost->time.value;
  Result<ScheduleProblem> costs =
      scheduleProblemOf(problem, *network, result.plan.stages, request.where);
  if (!costs)
    return costs.error();
  Result<Schedule> schedule =
      (*generators)[cost->schedule].generate(shapeOf(*costs));
  if (!schedule)
    return schedule.error();
  describe(problem, *costs,
           memoryOf(problem, result.plan.stages, request.where, *schedule),
           result.plan);
  if (request.pipelines > 1)
    widen(whole, *network, request.pipelines, result.plan);
  return result;
}

Status retime(const Problem &problem, const Generator &generator, Plan &plan) {
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  StagePlacement where = {Placement::Linear, int64_t(plan.stages.size()), 1};
  if (!fits(generator, where))
    return Error{demandOf(generator)};
  std::set<size_t> devices;
  auto isTaken = [&](size_t device) { return !devices.insert(device).second; };
  for (const StagePlan &stage : plan.stages)
    if (std::any_of(stage.devices.begin(), stage.devices.end(), isTaken))
      return Error{std::string(generator.name) +
                   " wants a device of its own for every stage, planner '" +
                   plan.planner + "' has put several on device " +
                   problem.cluster.devices[stage.devices.front()].name +
                   "; take planner balance"};
  Result<ScheduleProblem> costs =
      scheduleProblemOf(problem, *network, plan.stages, where);
  if (!costs)
    return costs.error();
  Result<Schedule> schedule = generator.generate(shapeOf(*costs));
  if (!schedule)
    return schedule.error();
  Result<ScheduleTiming> timing = timeSchedule(*schedule, *costs);
  if (!timing)
    return timing.error();
  std::vector<Bytes> need = memoryOf(problem, plan.stages, where, *schedule);
  for (const StagePlan &stage : plan.stages) {
    const Device &device = problem.cluster.devices[stage.devices.front()];
    Bytes here = need[stage.devices.front()];
    if (here > device.memory)
      return Error{std::string(generator.name) + " needs " + toString(here) +
                   " on device " + device.name + ", has " +
                   toString(device.memory) +
                   "; use more stages, fewer microbatches or a device with " +
                   toString(here - device.memory) + " more"};
  }
  plan.time = timing->makespan;
  describe(problem, *costs, need, plan);
  return {};
}

} // namespace stagewright
