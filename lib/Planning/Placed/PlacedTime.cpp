//===- PlacedTime.cpp - times of plans under a schedule -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "Placed/PassedValues.h"
#include "Placed/PlacedSearch.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/Replicas.h"
#include "stagewright/Simulation/PipelineTimeline.h"
#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>

namespace stagewright {

namespace {
/// The ranks of the stages of a plan.
struct Ranks {
  ReplicaRanks ofStages;
  std::vector<size_t> devices; ///< By rank.
  int64_t pipelines = 1;       ///< Parallel copies of the pipeline.
  bool inTurn = false;         ///< Replicas take microbatches in turn.
};

/// A plan with its schedule.
struct Run {
  ScheduledPlan plan;
  Ranks ranks;
  Problem first; ///< The problem of the first pipeline; see firstOf().
};
} // namespace

static Ranks ranksOf(const std::vector<StagePlan> &stages) {
  Ranks ranks;
  std::map<size_t, int64_t> rankOf; // By device.
  auto number = [&](size_t device) {
    auto [entry, isNew] =
        rankOf.try_emplace(device, int64_t(ranks.devices.size()));
    if (isNew)
      ranks.devices.push_back(device);
    return entry->second;
  };
  for (const StagePlan &stage : stages)
    number(stage.devices.front());
  for (const StagePlan &stage : stages) {
    ranks.ofStages.emplace_back();
    // Replicas that split each microbatch act as one rank.
    size_t count = stage.rows.empty() ? stage.devices.size() : 1;
    for (size_t i = 0; i < count; ++i)
      ranks.ofStages.back().push_back(number(stage.devices[i]));
  }
  ranks.inTurn = areReplicas(ranks.ofStages);
  if (ranks.inTurn)
    ranks.pipelines = pipelinesOf(ranks.ofStages);
  return ranks;
}

Problem firstOf(const Problem &problem, int64_t pipelines) {
  Problem one = problem;
  one.microbatches = microbatchesOf(0, pipelines, problem.microbatches);
  for (Resident &resident : one.residents)
    if (resident.kind == ResidentKind::PerMicrobatch)
      resident.bytes = Bytes(resident.bytes.value * pipelines);
  return one;
}

/// The orders of all ranks. `first` is the problem of one pipeline.
static Result<Schedule> scheduleOf(const Problem &problem, const Problem &first,
                                   const Network &network,
                                   const Generator &generator, const Plan &plan,
                                   const Ranks &ranks) {
  if (GangStages stated = gangStagesOf(plan); stated.front()) {
    ScheduleShape shape;
    shape.microbatches = problem.microbatches;
    shape.forwardOnly = problem.forwardOnly;
    return generateInGangs(generator, ranks.ofStages, stated, shape);
  }
  std::vector<StagePlan> firsts = plan.stages;
  std::vector<std::vector<int64_t>> lie = ranks.ofStages;
  if (ranks.inTurn)
    for (size_t s = 0; s < firsts.size(); ++s) {
      if (firsts[s].rows.empty())
        firsts[s].devices.resize(1);
      lie[s].resize(1);
    }
  Result<StagePlacement> where = placementOf(lie);
  if (!where)
    return where.error();
  if (!fits(generator, *where))
    return Error{demandOf(generator)};
  Result<ScheduleProblem> costs =
      scheduleProblemOf(first, network, firsts, *where);
  if (!costs)
    return costs.error();
  ScheduleShape shape = shapeOf(generator, *costs);
  shape.microbatches = problem.microbatches;
  return ranks.inTurn ? generateInTurn(generator, shape, ranks.ofStages)
                      : generator.generate(shape);
}

static Result<Run> runOf(const Problem &problem, const Network &network,
                         const Generator &generator, Plan &plan) {
  Run run;
  run.ranks = ranksOf(plan.stages);
  run.first = firstOf(problem, run.ranks.pipelines);
  Result<Schedule> schedule =
      scheduleOf(problem, run.first, network, generator, plan, run.ranks);
  if (!schedule)
    return schedule.error();
  Problem turns = problem;
  if (std::all_of(plan.stages.begin(), plan.stages.end(),
                  [](const StagePlan &stage) { return stage.rows.empty(); }))
    turns.samples = 1;
  run.plan = {pipelineOf(turns, network, plan), std::move(*schedule),
              run.ranks.devices};
  return run;
}

/// By rank: the first rank that runs the same actions on as many microbatches.
/// It is another rank only if there are pipelines side by side.
static std::vector<size_t> firstsAlike(const Run &run) {
  std::vector<size_t> first(run.ranks.devices.size());
  std::iota(first.begin(), first.end(), 0);
  std::map<int64_t, int64_t> pipelines; // By number of microbatches.
  for (int64_t k = 0; k < run.ranks.pipelines; ++k) {
    int64_t count = microbatchesOf(k, run.ranks.pipelines,
                                   run.plan.schedule.microbatches),
            alike = pipelines.try_emplace(count, k).first->second;
    for (const std::vector<int64_t> &stage : run.ranks.ofStages)
      if (alike != k)
        first[size_t(stage[size_t(k)])] = size_t(stage[size_t(alike)]);
  }
  return first;
}

/// By rank: the memory of its stages, which share nothing yet.
static std::vector<RankMemory> memoryOf(const Run &run, const Plan &plan) {
  std::vector<RankMemory> memory(run.ranks.devices.size(),
                                 RankMemory(run.plan.schedule.kind));
  auto [stages, passed] = memoryOfStages(run.first, plan.stages);
  std::map<std::pair<int64_t, int64_t>, int64_t> held; // By rank and stage.
  for (const StashPeak &peak : stashPeaks(run.plan.schedule)) {
    memory[peak.rank].add(stages[peak.stage], heldOf(peak),
                          run.first.microbatches, peak.stage);
    held[{peak.rank, peak.stage}] = peak.held;
  }
  auto heldBy = [&](int64_t rank, const RankMemory::Passed &value) {
    int64_t from = held[{rank, value.from}], to = held[{rank, value.to}];
    // The life of one of the stages covers that of the value, unless a late W
    // reads what a forward has made.
    return value.fromPhase != ActionKind::Forward        ? to
           : value.toPhase == ActionKind::WeightGradient ? from + to
                                                         : from;
  };
  for (const RankMemory::Passed &value : passed)
    for (int64_t rank : run.ranks.ofStages[size_t(value.from)])
      if (held.contains({rank, value.from}) && held.contains({rank, value.to}))
        memory[size_t(rank)].add(value, heldBy(rank, value));
  return memory;
}

/// Checks that the devices have enough memory. Packs stashes only where the
/// result depends on it.
static Status checkMemory(const Run &run, const Plan &plan,
                          LifePacker &packer) {
  std::vector<RankMemory> memory = memoryOf(run, plan);
  std::vector<size_t> first = firstsAlike(run);
  auto deviceOf = [&](size_t rank) -> const Device & {
    return run.first.cluster.devices[run.ranks.devices[rank]];
  };
  for (size_t r = 0; r < memory.size(); ++r) {
    const Order &order = run.plan.schedule.ranks[first[r]];
    const Device &device = deviceOf(r);
    if (first[r] < r && device.memory >= deviceOf(first[r]).memory)
      continue; // The first such rank fits, and has no more memory.
    RankMemory &own = memory[first[r]];
    if (own.fits(order, &packer, device.memory))
      continue;
    own.share(order, &packer);
    return Error{plan.schedule + " needs " + toString(own.total()) +
                 " on device " + device.name + ", has " +
                 toString(device.memory) +
                 "; use more stages, fewer microbatches or a device with " +
                 toString(own.total() - device.memory) + " more"};
  }
  return {};
}

/// Sets the memory of every stage: its part of what its devices hold, the max
/// over the devices.
static void fillMemory(const Run &run, Plan &plan, LifePacker &packer) {
  std::vector<RankMemory> memory = memoryOf(run, plan);
  std::vector<size_t> first = firstsAlike(run);
  for (StagePlan &stage : plan.stages)
    stage.memory = Bytes();
  for (size_t r = 0; r < memory.size(); ++r) {
    if (first[r] != r)
      continue;
    memory[r].share(run.plan.schedule.ranks[r], &packer);
    for (auto [number, bytes] : memory[r].parts()) {
      Bytes &stage = plan.stages[number].memory;
      stage = std::max(stage, bytes);
    }
  }
}

/// The run of `plan`, which fits in memory; sets the time of `plan` and bounds.
static Result<Run> timedRun(const Problem &problem, const Network &network,
                            const Generator &generator, Plan &plan,
                            LifePacker &packer) {
  plan.schedule = generator.name;
  Result<Run> run = runOf(problem, network, generator, plan);
  if (!run)
    return run;
  if (Status status = checkMemory(*run, plan, packer); !status)
    return status.error();
  const auto &[model, schedule, devices] = run->plan;
  Result<StepTime> time = stepTimeOf(model, schedule, run->ranks.ofStages);
  if (!time)
    return time.error();
  plan.time = time->makespan;
  plan.value = plan.time.value;
  Seconds least = time->busiest;
  if (!generator.splitsBackward)
    least = std::max(least, planLowerBound(model));
  plan.planBound = boundOf(least, plan.time);
  plan.familyBound = boundOf(workLowerBound(problem), plan.time);
  plan.upperBound.reset();
  findBindings(model, plan);
  return run;
}

Status timePlaced(const Problem &problem, const Network &network,
                  const Generator &generator, Plan &plan, LifePacker &packer) {
  Result<Run> run = timedRun(problem, network, generator, plan, packer);
  return run ? Status() : run.error();
}

Result<Plan> withMemory(const Problem &problem, const Network &network,
                        const std::vector<Generator> &generators,
                        Result<Plan> plan) {
  if (!plan)
    return plan;
  auto generator = std::find_if(
      generators.begin(), generators.end(),
      [&](const Generator &it) { return it.name == plan->schedule; });
  assert(generator != generators.end() && "plan has another order");
  Result<Run> run = runOf(problem, network, *generator, *plan);
  if (!run)
    return run.error();
  LifePacker packer;
  fillMemory(*run, *plan, packer);
  return plan;
}

Status evaluatePlaced(const Problem &problem, const Network &network,
                      const Generator &generator, Plan &plan) {
  LifePacker packer;
  Result<Run> run = timedRun(problem, network, generator, plan, packer);
  if (!run)
    return run.error();
  fillMemory(*run, plan, packer);
  return {};
}

Result<ScheduledPlan> scheduled(const Problem &problem, const Network &network,
                                Plan &plan) {
  Result<Generator> generator = findGenerator(plan.schedule);
  if (!generator)
    return generator.error();
  Result<Run> run = runOf(problem, network, *generator, plan);
  if (!run)
    return run.error();
  return std::move(run->plan);
}

Status verifyPlaced(const Problem &problem, const Plan &plan) {
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<Generator> generator = findGenerator(plan.schedule);
  if (!generator)
    return generator.error();
  Plan copy = plan;
  Result<Run> run = runOf(problem, *network, *generator, copy);
  if (!run)
    return run.error();
  LifePacker packer;
  return checkMemory(*run, copy, packer);
}

Status retime(const Problem &problem, const Generator &generator, Plan &plan) {
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  std::set<size_t> devices;
  auto isTaken = [&](size_t device) { return !devices.insert(device).second; };
  for (const StagePlan &stage : plan.stages)
    if (auto shared =
            std::find_if(stage.devices.begin(), stage.devices.end(), isTaken);
        shared != stage.devices.end())
      return Error{std::string(generator.name) +
                   " wants a device of its own for every stage, planner '" +
                   plan.planner + "' has put several on device " +
                   problem.cluster.devices[*shared].name +
                   "; take planner balance"};
  return evaluatePlaced(problem, *network, generator, plan);
}

} // namespace stagewright
