//===- ChainSpace.cpp - contiguous stages as decisions --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/ChainSpace.h"
#include "Spp/Spp.h"
#include "stagewright/Support/Text.h"
#include <algorithm>

namespace stagewright {

ChainSpace::ChainSpace(const Problem &problem, const Network &network,
                       const Plan *start)
    : problem(problem), network(network),
      costs(problem, network, /*surelyNext=*/true),
      orders(chooseLists(problem, network)),
      classOf(problem.cluster.classOfDevices()),
      maxReplicas(problem.maxReplicas > 0
                      ? std::min(size_t(problem.maxReplicas), network.size())
                      : network.size()) {
  if (start) {
    std::vector<size_t> list = listOf(problem, *start);
    if (list.size() == network.size() &&
        std::find(orders.begin(), orders.end(), list) == orders.end())
      orders.push_back(std::move(list));
  }
  indexOrders();
  leastWork.assign(costs.layers + 1, 0);
  for (size_t l = 0; l < costs.layers; ++l) {
    double work = 1e300;
    for (const StageTimes &times : problem.layers[l].times)
      work = std::min(work, problem.forwardOnly ? times.forward.value
                                                : times.total().value);
    leastWork[l + 1] = leastWork[l] + work;
    comes = comes && (l == 0 || costs.feeds[l]);
    returns = returns && (l == 0 || costs.returns[l]);
  }
  returns = returns && !problem.forwardOnly;
  allSliced = !takesTurns(0, costs.layers);
  knowsTransfers = std::none_of(
      problem.values.begin(), problem.values.end(),
      [](const LayerValue &value) { return value.transfer.has_value(); });
  ideal = std::max(leastWork.back() / double(network.size()), 1e-30);
  size_t most = std::min(costs.layers, network.size());
  sharings.assign(most + 1, std::vector<long double>(network.size() + 1, 0));
  sharings[0].assign(network.size() + 1, 1);
  for (size_t s = 1; s <= most; ++s) {
    // The sum of the ways of the other stages, over the devices that they may
    // have if this one has 1 to maxReplicas.
    long double window = 0;
    for (size_t d = 1; d <= network.size(); ++d) {
      window += sharings[s - 1][d - 1];
      if (d > maxReplicas)
        window -= sharings[s - 1][d - 1 - maxReplicas];
      sharings[s][d] = window;
    }
  }
}

void ChainSpace::indexOrders() {
  auto isEqual = [&](size_t a, size_t b) {
    return classOf[a] == classOf[b] && problem.cluster.devices[a].memory ==
                                           problem.cluster.devices[b].memory;
  };
  size_t classes = *std::max_element(classOf.begin(), classOf.end()) + 1;
  for (const std::vector<size_t> &order : orders) {
    std::vector<size_t> &until = equalUntil.emplace_back(order.size() + 1);
    until.back() = order.size();
    for (size_t i = order.size(); i-- > 0;)
      until[i] = i + 1 < order.size() && isEqual(order[i], order[i + 1])
                     ? until[i + 1]
                     : i + 1;
    auto &counts = classCounts.emplace_back(
        classes, std::vector<size_t>(order.size() + 1, 0));
    for (size_t c = 0; c < classes; ++c)
      for (size_t i = 0; i < order.size(); ++i)
        counts[c][i + 1] = counts[c][i] + (classOf[order[i]] == c);
  }
}

ChainSpace::Decided ChainSpace::read(const Decisions &prefix) const {
  Decided at;
  if (prefix.empty())
    return at;
  at.order = size_t(prefix[0]);
  size_t i = 1;
  for (; i + 1 < prefix.size(); i += 2) {
    ++at.stages;
    at.layers = size_t(prefix[i]);
    at.devices += size_t(prefix[i + 1]);
  }
  if (i < prefix.size())
    at.end = size_t(prefix[i]);
  return at;
}

size_t ChainSpace::mostDevices(const Decided &at, bool isLast) const {
  size_t later = isLast ? 0 : 1;
  if (problem.stages > 0)
    later = size_t(problem.stages) - at.stages - 1;
  return std::min(network.size() - at.devices - later, maxReplicas);
}

static std::vector<int64_t> range(size_t first, size_t last) {
  std::vector<int64_t> numbers;
  for (size_t i = first; i <= last; ++i)
    numbers.push_back(int64_t(i));
  return numbers;
}

std::vector<int64_t> ChainSpace::choices(const Decisions &prefix) const {
  if (prefix.empty())
    return range(0, orders.size() - 1);
  Decided at = read(prefix);
  if (at.end > 0)
    return range(1, mostDevices(at, at.end == costs.layers));
  if (at.layers == costs.layers)
    return {};
  size_t last = costs.layers;
  bool mayEnd = true;
  if (problem.stages > 0) {
    size_t left = size_t(problem.stages) - at.stages;
    mayEnd = left == 1;
    last -= left - 1;
  }
  bool mustEnd =
      mayEnd && (problem.stages > 0 || at.devices + 1 == network.size());
  return range(mustEnd ? last : at.layers + 1, last);
}

/// Ways to choose `chosen` of `count` things.
static long double choose(size_t count, size_t chosen) {
  long double ways = 1;
  chosen = std::min(chosen, count - chosen);
  for (size_t i = 0; i < chosen; ++i)
    ways = ways * (long double)(count - i) / (long double)(i + 1);
  return ways;
}

long double ChainSpace::ways(size_t stages, size_t layers,
                             size_t devices) const {
  if (layers == 0)
    return 1;
  size_t most = std::min(layers, devices);
  if (problem.stages > 0) {
    size_t left = size_t(problem.stages) - stages;
    return left == 0 || left > most
               ? 0
               : choose(layers - 1, left - 1) * sharings[left][devices];
  }
  long double sum = 0, cuts = 1; // choose(layers - 1, s - 1)
  for (size_t s = 1; s <= most; ++s) {
    sum += cuts * sharings[s][devices];
    cuts = cuts * (long double)(layers - s) / (long double)s;
  }
  return sum;
}

long double ChainSpace::count(const Decisions &prefix) const {
  Decided at = read(prefix);
  size_t devices = network.size() - at.devices;
  if (prefix.empty())
    return (long double)orders.size() * ways(0, costs.layers, devices);
  if (at.end == 0)
    return ways(at.stages, costs.layers - at.layers, devices);
  long double sum = 0;
  for (int64_t own : choices(prefix))
    sum += ways(at.stages + 1, costs.layers - at.end, devices - size_t(own));
  return sum;
}

Decisions ChainSpace::stateOf(const Decisions &prefix) const {
  Decided at = read(prefix);
  return {int64_t(at.order),
          int64_t(at.layers),
          int64_t(at.devices),
          int64_t(at.end),
          problem.stages > 0 ? int64_t(at.stages) : 0,
          int64_t(prefix.size() > 1)};
}

Result<Plan> ChainSpace::planOf(const Decisions &decisions) const {
  const std::vector<size_t> &order = orders[size_t(decisions[0])];
  Plan plan;
  plan.planner = "search";
  int64_t first = 0;
  auto device = order.begin();
  for (size_t i = 1; i < decisions.size(); i += 2) {
    auto next = device + decisions[i + 1];
    plan.stages.push_back(stageOf(first, decisions[i], {device, next}));
    first = decisions[i];
    device = next;
  }
  if (Status status = evaluate(problem, network, plan); !status)
    return status.error();
  plan.value = plan.time.value;
  return plan;
}

Result<double> ChainSpace::time(const Decisions &plan) const {
  Result<Plan> evaluated = planOf(plan);
  if (!evaluated)
    return evaluated.error();
  return evaluated->time.value;
}

std::optional<Decisions> ChainSpace::decisionsOf(const Plan *start) const {
  if (!start ||
      (problem.stages > 0 && int64_t(start->stages.size()) != problem.stages))
    return std::nullopt;
  Decisions plan = {0};
  int64_t end = 0;
  for (const StagePlan &stage : start->stages) {
    int64_t first = std::exchange(end, stage.layers.back() + 1);
    if (stage.layers.front() != first || stage.devices.size() > maxReplicas ||
        end - first != int64_t(stage.layers.size()))
      return std::nullopt;
    plan.insert(plan.end(), {end, int64_t(stage.devices.size())});
  }
  std::vector<size_t> list = listOf(problem, *start);
  auto order = std::find(orders.begin(), orders.end(), list);
  if (order == orders.end() || list.size() != network.size())
    return std::nullopt;
  plan[0] = order - orders.begin();
  return plan;
}

} // namespace stagewright
