//===- MaxLoadPlan.cpp - what planners of the maximum load share ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/MaxLoadPlan.h"
#include "MaxLoad/DevicePool.h"
#include "MaxLoad/StageFit.h"
#include "stagewright/Planning/DeviceOrder.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

int64_t mostStages(const Problem &problem, const LoadGraph &graph) {
  size_t most = std::min(problem.cluster.devices.size(), graph.size());
  return problem.stages > 0 ? problem.stages : int64_t(most);
}

double leastLoad(const LoadGraph &graph, int64_t most) {
  double total = 0, largest = 0;
  for (size_t node = 0; node < graph.size(); ++node) {
    total += graph.leastTime(int(node));
    largest = std::max(largest, graph.leastTime(int(node)));
  }
  double capacity = DevicePool(graph, most)[0].capacity;
  return std::max(largest, capacity > 0 ? total / capacity : 0);
}

/// The max load if `nodes` are cut into pieces of about equal compute, one for
/// each of the last `request.most` positions; infinite if that does not fit.
static double evenCut(const SplitRequest &request,
                      const std::vector<int> &nodes) {
  const LoadGraph &graph = request.graph;
  double total = 0, done = 0, most = 0;
  for (int node : nodes)
    total += graph.leastTime(node);
  StageFit fit(request.problem, graph);
  size_t next = 0;
  for (int64_t left = request.most; left > 0; --left) {
    size_t position = request.order.size() - size_t(left);
    GrowingLoad load(graph, graph.places[graph.placeOf[position]]);
    double end = total * double(request.most - left + 1) / double(request.most);
    size_t first = next, last = nodes.size() - size_t(left - 1);
    while (next < last && (next == first || left == 1 ||
                           done + graph.leastTime(nodes[next]) <= end)) {
      done += graph.leastTime(nodes[next]);
      load.add(nodes[next]);
      fit.add(nodes[next++]);
    }
    if (!fit.fits(request.order[position], left))
      return kInfinity;
    for (size_t i = next; i-- > first;)
      fit.remove(nodes[i]);
    most = std::max(most, load.load());
  }
  return most;
}

/// The error if no contiguous split fits: what does not fit, and by how much.
static Error doesNotFit(const Problem &problem, const LoadGraph &graph,
                        int64_t most) {
  Bytes largest, together;
  for (const Device &device : problem.cluster.devices) {
    largest = std::max(largest, device.memory);
    together += device.memory;
  }
  StageFit fit(problem, graph);
  for (size_t node = 0; node < graph.size(); ++node) {
    fit.add(int(node));
    if (Bytes alone = fit.bytes(1); alone > largest)
      return Error{"layer '" + problem.layers[graph.layers[node][0]].name +
                   "' alone needs " + toString(alone) +
                   ", the largest device has " + toString(largest) +
                   "; use a device with " + toString(alone - largest) +
                   " more"};
    fit.remove(int(node));
  }
  std::vector<bool> all(problem.layers.size(), true);
  Bytes held(stageMemory(problem, all, /*recompute=*/false).once);
  return Error{"no split into at most " + std::to_string(most) +
               " contiguous stages fits in memory; the layers hold " +
               toString(held) + " all the time, the devices have " +
               toString(together) + " together; use more or larger devices"};
}

/// The best split with the devices in one order; none if none fits.
static Result<std::optional<ContiguousOptimum>>
findInOrder(const Problem &problem, const Network &network,
            const std::vector<size_t> &order, bool linear) {
  ContiguousOptimum result{
      order, makeLoadGraph(problem, network, order), {}, 0, 0};
  SplitRequest request{problem, result.graph, result.order,
                       mostStages(problem, result.graph), problem.stages > 0};
  if (request.most > int64_t(result.graph.size()))
    return Error{std::to_string(request.most) + " stages are more than the " +
                 std::to_string(result.graph.size()) +
                 " groups of layers that can be apart; ask for fewer stages"};
  std::vector<int> nodes = depthFirstOrder(result.graph);
  Result<std::optional<MaxLoadSplit>> split =
      splitByIdeals(request, Ideals::ofOrder(nodes), evenCut(request, nodes));
  if (!split)
    return split.error();
  result.linear = *split ? (*split)->load : kInfinity;
  if (!linear) {
    std::optional<Ideals> ideals = Ideals::create(result.graph, kMostIdeals);
    if (!ideals)
      return Error{"the graph has more than " + std::to_string(kMostIdeals) +
                   " ideals; use planner=ideal-dp-linear, which cuts one "
                   "order of the layers"};
    result.ideals = ideals->size();
    split = splitByIdeals(request, *ideals, result.linear);
    if (!split)
      return split.error();
  }
  if (!*split)
    return std::optional<ContiguousOptimum>();
  result.split = std::move(**split);
  return std::optional(std::move(result));
}

Result<ContiguousOptimum> findContiguous(const Problem &problem,
                                         const Network &network, bool linear) {
  std::vector<size_t> stated(problem.cluster.devices.size());
  std::iota(stated.begin(), stated.end(), 0);
  LoadGraph graph = makeLoadGraph(problem, network, stated);
  std::vector<std::vector<size_t>> orders = {stated};
  if (!graph.flat)
    orders = candidateOrders(problem.cluster, network, /*most=*/2);
  std::optional<ContiguousOptimum> best;
  for (const std::vector<size_t> &order : orders) {
    Result<std::optional<ContiguousOptimum>> found =
        findInOrder(problem, network, order, linear);
    if (!found)
      return found.error();
    if (*found && (!best || (*found)->split.load < best->split.load))
      best = std::move(*found);
  }
  if (!best)
    return doesNotFit(problem, graph, mostStages(problem, graph));
  return std::move(*best);
}

Result<Plan> planOf(const Problem &problem, const Network &network,
                    const LoadGraph &graph, const MaxLoadSplit &split) {
  Plan plan;
  plan.objective = "max-load";
  plan.value = split.load;
  for (size_t s = 0; s < split.stages.size(); ++s) {
    StagePlan stage;
    for (int node : split.stages[s])
      stage.layers.insert(stage.layers.end(), graph.layers[node].begin(),
                          graph.layers[node].end());
    std::sort(stage.layers.begin(), stage.layers.end());
    stage.devices = {split.devices[s]};
    plan.stages.push_back(std::move(stage));
  }
  plan.familyBound = Seconds(double(problem.microbatches) *
                             leastLoad(graph, mostStages(problem, graph)));
  if (Status status = evaluate(problem, network, plan); !status)
    return status.error();
  return plan;
}

} // namespace stagewright
