//===- SppCandidates.cpp - plans worth simulating -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spp/SppCandidates.h"
#include "Spp/PrmPareto.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Support/Parallel.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stagewright {

/// Caps on a stage's load, relative to the min possible one, under which the
/// time to fill and drain the pipeline is minimised.
static constexpr double kCaps[] = {1,    1.005, 1.01, 1.02, 1.03, 1.05, 1.08,
                                   1.12, 1.17,  1.25, 1.35, 1.5,  1.75, 2};

/// A run that finds a plan for every number of stages is made for each
/// objective if it takes at most kFewSteps steps of the inner loop, and for the
/// loads if it takes at most kManySteps.
static constexpr double kFewSteps = 1e7, kManySteps = 4e9;

/// Weights of the fill: the first microbatch takes longer than its own work if
/// it waits for others.
static constexpr double kFillWeights[] = {1.5, 2};

/// Max pairs of blocks times layers for plansBelow(), and max number of its
/// plans.
static constexpr double kParetoSteps = 3e6;
static constexpr size_t kMostBelow = 64;

/// With more than kFewDevices devices, plans are made for the memory of only
/// kFewOrders orders.
static constexpr size_t kFewDevices = 32, kFewOrders = 2;

/// Max rounds in which PrmOptions::drain is taken from the best plan so far.
static constexpr int kDrainRounds = 2;

SppCandidates::SppCandidates(const Problem &problem, const Network &network)
    : problem(problem), network(network), costs(problem, network),
      rules(problem), mostStages(std::min(problem.layers.size(),
                                          problem.cluster.devices.size())) {
  if (problem.stages > 0)
    mostStages = problem.stages;
  memoryOrders = {ExecutionOrder::GPipe};
  if (!memoryMayBind(problem))
    return;
  memory.emplace(problem, problem.recompute);
  memoryOrders.clear();
  // Orders that keep equally many microbatches share one run.
  for (ExecutionOrder order : problem.orders) {
    auto sameNeed = [&](ExecutionOrder other) {
      for (int64_t s = 1; s <= mostStages; ++s)
        if (inFlightOf(order, s, problem.microbatches) !=
            inFlightOf(other, s, problem.microbatches))
          return false;
      return true;
    };
    if (std::none_of(memoryOrders.begin(), memoryOrders.end(), sameNeed))
      memoryOrders.push_back(order);
  }
  // Orders that keep the fewest microbatches come first: plans made for them
  // recompute more, and so fit under the others too.
  auto kept = [&](ExecutionOrder order) {
    return inFlightOf(order, mostStages, problem.microbatches);
  };
  std::stable_sort(
      memoryOrders.begin(), memoryOrders.end(),
      [&](ExecutionOrder a, ExecutionOrder b) { return kept(a) < kept(b); });
  if (problem.cluster.devices.size() > kFewDevices &&
      memoryOrders.size() > kFewOrders)
    memoryOrders.resize(kFewOrders);
}

bool SppCandidates::tellsStages(const PrmBlocks &blocks, double budget) const {
  double pairs = 0;
  for (const PrmBlock &block : blocks.blocks)
    pairs += double(block.nextEnd - block.nextBegin) + 8;
  return pairs * double(mostStages) * double(costs.layers) <= budget;
}

PrmOptions SppCandidates::optionsFor(ExecutionOrder order) const {
  PrmOptions options;
  options.memory = memory ? &*memory : nullptr;
  options.memoryOrder = order;
  options.rules = rules.isEmpty() ? nullptr : &rules;
  return options;
}

void SppCandidates::addOrder(const std::vector<size_t> &devices) {
  // Stages that begin or end inside a host make channels share its NIC, which
  // the dynamic program does not model. So it also runs on whole hosts.
  bool sharesNics = false;
  for (size_t d = 1; d < devices.size(); ++d)
    sharesNics |= problem.model.sharedNics &&
                  network.sharesNic(network.hostOf(devices[d])) &&
                  network.hostOf(devices[d]) == network.hostOf(devices[d - 1]);
  for (bool byHost : {false, true}) {
    if (byHost && (!sharesNics || devices.size() > kMostDevicesOfAllRuns))
      continue;
    PrmBlocks blocks(problem, network, costs, devices, byHost);
    for (ExecutionOrder order : memoryOrders) {
      PrmOptions options = optionsFor(order);
      addGoals(blocks, options);
    }
  }
  addUniform(devices);
  ++orders;
}

/// Adds plans with equally many devices for every stage. There are few, people
/// try them first, and the search must not miss them.
void SppCandidates::addUniform(const std::vector<size_t> &devices) {
  std::vector<size_t> widths;
  for (size_t width = 1; width <= devices.size(); ++width)
    if (devices.size() % width == 0)
      widths.push_back(width);
  std::vector<std::vector<Plan>> plans(widths.size());
  forEachInParallel(widths.size(), [&](size_t i) {
    PrmBlocks blocks(problem, network, costs, devices, false, widths[i]);
    if (widths[i] > blocks.maxWidth)
      return;
    for (ExecutionOrder order : memoryOrders)
      for (bool fills : {false, true}) {
        PrmOptions options = optionsFor(order);
        options.byStages = mostStages;
        options.fillForward = options.fillBackward = fills;
        for (const PrmPlan &plan :
             partitionReplicateMap(problem, costs, blocks, options))
          if (!plan.stages.empty())
            plans[i].push_back(planOf(blocks, plan));
      }
  });
  for (std::vector<Plan> &ofWidth : plans)
    for (Plan &plan : ofWidth)
      add(std::move(plan));
}

void SppCandidates::addLike(const Plan &plan, size_t order,
                            const std::vector<size_t> &devices) {
  PrmBlocks blocks(problem, network, costs, devices);
  PrmOptions options = optionsFor(memoryOrders.front());
  options.fillForward = options.fillBackward = true;
  options.drain = drainOf(plan);
  std::swap(orders, order);
  bool fixed = problem.stages > 0;
  std::vector<PrmOptions> runs;
  for (bool byStages : {false, true}) {
    if (byStages ? !fixed && !tellsStages(blocks, kFewSteps) : fixed)
      continue;
    options.byStages = byStages ? mostStages : 0;
    for (double weight : {1.0, 1.5, 2.0}) {
      options.fillWeight = weight;
      runs.push_back(options);
    }
  }
  add(blocks, runs);
  std::swap(orders, order);
}

void SppCandidates::addBelow(Seconds limit, size_t order,
                             const std::vector<size_t> &devices) {
  PrmBlocks blocks(problem, network, costs, devices);
  if (problem.stages > 0 ||
      double(blocks.pairs.size()) * double(costs.layers) > kParetoSteps)
    return;
  std::swap(orders, order);
  for (ExecutionOrder memoryOrder : memoryOrders) {
    PrmOptions options = optionsFor(memoryOrder);
    for (const PrmPlan &plan :
         plansBelow(problem, costs, blocks, options, limit.value, kMostBelow))
      add(blocks, plan);
  }
  std::swap(orders, order);
}

Seconds SppCandidates::promiseOf(const std::vector<size_t> &devices) const {
  PrmBlocks blocks(problem, network, costs, devices);
  PrmOptions options = optionsFor(memoryOrders.front());
  options.fillForward = options.fillBackward = true;
  options.byStages = problem.stages;
  Seconds least(std::numeric_limits<double>::infinity());
  for (bool tail : {false, true}) {
    options.countTail = tail;
    PrmPlan found =
        partitionReplicateMap(problem, costs, blocks, options).back();
    if (found.stages.empty())
      continue;
    Plan plan = planOf(blocks, found);
    least = std::min(least, planLowerBound(pipelineOf(problem, network, plan)));
  }
  return least;
}

/// Adds plans for three kinds of objectives: SPP's, with every number of
/// stages; both parts of a plan's lower bound; min fill under a cap on the
/// loads.
void SppCandidates::addGoals(const PrmBlocks &blocks, PrmOptions options) {
  std::vector<double> loads = addLoads(blocks, options);
  bool fixed = problem.stages > 0;
  if (fixed || tellsStages(blocks, kFewSteps))
    options.byStages = mostStages;
  PrmOptions goal = options;
  goal.fillForward = goal.fillBackward = true;
  std::vector<PrmOptions> runs;
  for (bool tail : {false, true}) {
    goal.countTail = tail;
    runs.push_back(goal);
  }
  for (double weight : kFillWeights) {
    goal.fillWeight = weight;
    runs.push_back(goal);
  }
  goal.fillWeight = 1;
  goal.fillBackward = false;
  runs.push_back(goal);
  add(blocks, runs);
  goal.fillBackward = goal.countTail = true;
  for (int round = 0; round < kDrainRounds; ++round) {
    goal.drain = drainOfBest();
    if (goal.drain.empty() || goal.drain == options.drain)
      break;
    add(blocks, {goal});
    options.drain = goal.drain;
  }
  if (fixed || loads.empty())
    return;
  runs = withCaps(blocks, options, loads);
  if (!options.drain.empty()) {
    options.drain.clear();
    for (PrmOptions &run : withCaps(blocks, options, loads))
      runs.push_back(std::move(run));
  }
  add(blocks, runs);
}

std::vector<double> SppCandidates::drainOfBest() const {
  const SppCandidate *best = nullptr;
  for (const SppCandidate &candidate : found)
    if (candidate.order == orders && (!best || candidate.bound < best->bound))
      best = &candidate;
  return best ? drainOf(best->plan) : std::vector<double>();
}

/// By layer: seconds of the last microbatch's backward from there to the first
/// layer; inside a stage in proportion to the backwards of its layers.
std::vector<double> SppCandidates::drainOf(Plan plan) const {
  PipelineModel model = pipelineOf(problem, network, plan);
  std::vector<double> drain = {0};
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    size_t first = plan.stages[s].layers.front();
    double before = drain[first];
    const std::vector<double> &work = costs.backward.front();
    double all = work[plan.stages[s].layers.back() + 1] - work[first];
    for (int64_t layer : plan.stages[s].layers)
      drain.push_back(before +
                      (all > 0 ? (work[layer + 1] - work[first]) / all : 0) *
                          model.stages[s].backward().value);
    for (const PipelineChannel &channel : model.channels)
      if (channel.from == s && channel.to == s + 1)
        drain.back() += channel.backward.value;
  }
  return drain;
}

/// Adds the plans of min load. Returns their loads by number of stages, without
/// numbers that have no plan.
std::vector<double> SppCandidates::addLoads(const PrmBlocks &blocks,
                                            PrmOptions options) {
  if (problem.stages > 0 || (blocks.devices <= kMostDevicesOfAllRuns &&
                             tellsStages(blocks, kManySteps)))
    options.byStages = mostStages;
  std::vector<double> loads;
  for (const PrmPlan &plan :
       partitionReplicateMap(problem, costs, blocks, options)) {
    add(blocks, plan);
    if (!std::isinf(plan.value))
      loads.push_back(plan.value);
  }
  return loads;
}

/// Runs for min fill under caps on the loads.
std::vector<PrmOptions>
SppCandidates::withCaps(const PrmBlocks &blocks, PrmOptions options,
                        const std::vector<double> &loads) const {
  double least = *std::min_element(loads.begin(), loads.end());
  std::set<double> caps;
  for (double factor : kCaps)
    caps.insert(least * factor);
  if (blocks.devices <= kFewDevices)
    for (double load : loads)
      if (load <= 2 * least)
        caps.insert(load);
  options.byStages = 0;
  options.fillForward = options.fillBackward = true;
  std::vector<PrmOptions> runs;
  for (double cap : caps) {
    options.cap = cap * (1 + 1e-9);
    runs.push_back(options);
  }
  return runs;
}

void SppCandidates::add(const PrmBlocks &blocks,
                        const std::vector<PrmOptions> &runs) {
  std::vector<std::vector<PrmPlan>> plans(runs.size());
  forEachInParallel(runs.size(), [&](size_t i) {
    plans[i] = partitionReplicateMap(problem, costs, blocks, runs[i]);
  });
  for (const std::vector<PrmPlan> &ofRun : plans)
    for (const PrmPlan &plan : ofRun)
      add(blocks, plan);
}

void SppCandidates::add(const PrmBlocks &blocks, const PrmPlan &plan) {
  if (!plan.stages.empty())
    add(planOf(blocks, plan));
}

void SppCandidates::add(Plan plan) {
  if (problem.stages > 0 && int64_t(plan.stages.size()) != problem.stages)
    return;
  std::vector<int64_t> key;
  for (const StagePlan &stage : plan.stages) {
    key.insert(key.end(), {stage.layers.back(), int64_t(stage.devices.size()),
                           stage.recompute});
    for (size_t device : stage.devices)
      key.push_back(int64_t(device));
  }
  if (!known.insert(std::move(key)).second)
    return;
  Seconds bound = planLowerBound(pipelineOf(problem, network, plan));
  found.push_back({std::move(plan), orders, bound});
}

void SppCandidates::addPlan(const Plan &plan, size_t order) {
  std::swap(orders, order);
  add(plan);
  std::swap(orders, order);
}

Plan SppCandidates::planOf(const PrmBlocks &blocks,
                           const PrmPlan &found) const {
  Plan plan;
  plan.planner = "spp";
  for (const PrmStage &stage : found.stages) {
    const PrmBlock &block = blocks.blocks[stage.block];
    auto first = blocks.order.begin() + block.start;
    plan.stages.push_back(
        stageOf(stage.first, stage.end, {first, first + block.width}));
    plan.stages.back().recompute = stage.recompute;
  }
  return plan;
}

bool isBefore(const Plan &a, const Plan &b) {
  if (a.stages.size() != b.stages.size())
    return a.stages.size() < b.stages.size();
  auto key = [](const Plan &plan) {
    std::vector<int64_t> key;
    for (const StagePlan &stage : plan.stages)
      key.push_back(stage.layers.back());
    for (const StagePlan &stage : plan.stages)
      key.push_back(int64_t(stage.devices.size()));
    for (const StagePlan &stage : plan.stages)
      key.insert(key.end(), stage.devices.begin(), stage.devices.end());
    return key;
  };
  return key(a) < key(b);
}

std::vector<SppCandidate> SppCandidates::take() {
  std::sort(found.begin(), found.end(),
            [](const SppCandidate &a, const SppCandidate &b) {
              if (a.bound != b.bound)
                return a.bound < b.bound;
              return isBefore(a.plan, b.plan);
            });
  return std::exchange(found, {});
}

Plan SppCandidates::planOfLeastMemory(const std::vector<size_t> &devices,
                                      int64_t &more) const {
  PrmBlocks blocks(problem, network, costs, devices);
  MemoryTable table(problem, problem.recompute);
  PrmOptions options = optionsFor(ExecutionOrder::CapA);
  options.memory = &table;
  options.byStages = problem.stages;
  // The order that keeps fewest microbatches.
  for (ExecutionOrder order : problem.orders)
    if (order == problem.orders.front() ||
        inFlightOf(order, 2, problem.microbatches) <
            inFlightOf(options.memoryOrder, 2, problem.microbatches))
      options.memoryOrder = order;
  int64_t low = 0, high = int64_t(1) << 55;
  Plan best;
  more = -1;
  while (low < high) {
    options.extraMemory = low + (high - low) / 2;
    PrmPlan plan =
        partitionReplicateMap(problem, costs, blocks, options).back();
    if (plan.stages.empty()) {
      low = options.extraMemory + 1;
      continue;
    }
    high = more = options.extraMemory;
    best = planOf(blocks, plan);
  }
  return best;
}

} // namespace stagewright
