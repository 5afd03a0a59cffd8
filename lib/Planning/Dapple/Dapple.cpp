//===- Dapple.cpp - DAPPLE's planner --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dapple.h"
#include "Dapple/DapplePlans.h"
#include "stagewright/Planning/ChainCosts.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>
#include <map>
#include <unordered_map>

namespace stagewright {

namespace {
/// A time of `fixed` seconds plus `perByte` seconds for each byte; 0 for none.
struct Linear {
  double fixed = 0, perByte = 0;
  double of(double bytes) const {
    return bytes > 0 ? fixed + perByte * bytes : 0;
  }
};

/// The stage costs of Evaluate.h, cached by group: a search asks for the same
/// groups many times.
class Costs {
public:
  Costs(const Problem &problem, const Network &network)
      : problem(problem), network(network), chain(problem, network),
        classOf(problem.cluster.classOfDevices()) {}

  DappleStage stage(size_t first, size_t end, const DappleGroup &group);
  DappleStage channel(size_t cut, const DappleGroup &from,
                      const DappleGroup &to);
  /// Seconds of forward plus backward of each layer on its fastest device.
  std::vector<double> leastLoad() const;
  /// By host: the number of its kind. Hosts of a kind have equally many devices
  /// of the same classes and equally fast NICs.
  std::vector<size_t> kindsOfHosts() const;

private:
  struct Known {
    Linear allReduce;
    std::vector<size_t> classes; ///< Distinct, of the devices.
    double share = 1;            ///< The largest, on equally fast devices.
  };
  const Known &knownOf(const DappleGroup &group);
  /// Seconds of a whole microbatch on a device of class `c`.
  double forward(size_t c, size_t first, size_t end) const {
    return chain.forward[c][end] - chain.forward[c][first];
  }
  double backward(size_t c, size_t first, size_t end) const {
    return chain.backward[c][end] - chain.backward[c][first];
  }
  std::vector<double> sharesFor(const DappleGroup &group) const {
    return sharesOf(std::vector<double>(group.devices.size(), 1), problem.model,
                    problem.samples);
  }

  const Problem &problem;
  const Network &network;
  ChainCosts chain;
  std::vector<size_t> classOf;
  std::vector<std::optional<Known>> known;       ///< By group.
  std::unordered_map<uint64_t, Linear> channels; ///< By both groups.
};
} // namespace

/// The line through the values of `seconds` at 1 byte and at 2^40 bytes.
static Linear lineOf(const std::function<Seconds(Bytes)> &seconds) {
  constexpr int64_t kMany = int64_t(1) << 40;
  double one = seconds(Bytes(1)).value, many = seconds(Bytes(kMany)).value;
  Linear line;
  line.perByte = (many - one) / double(kMany - 1);
  line.fixed = std::max(one - line.perByte, 0.0);
  return line;
}

const Costs::Known &Costs::knownOf(const DappleGroup &group) {
  if (group.id >= known.size())
    known.resize(group.id + 1);
  std::optional<Known> &entry = known[group.id];
  if (entry)
    return *entry;
  entry.emplace();
  for (size_t device : group.devices)
    entry->classes.push_back(classOf[device]);
  std::sort(entry->classes.begin(), entry->classes.end());
  entry->classes.erase(
      std::unique(entry->classes.begin(), entry->classes.end()),
      entry->classes.end());
  std::vector<double> shares = sharesFor(group);
  entry->share = *std::max_element(shares.begin(), shares.end());
  entry->allReduce = lineOf([&](Bytes bytes) {
    return allReduceTime(network, group.devices, bytes);
  });
  return *entry;
}

DappleStage Costs::stage(size_t first, size_t end, const DappleGroup &group) {
  const Known &about = knownOf(group);
  DappleStage stage;
  if (!problem.forwardOnly)
    stage.allReduce = about.allReduce.of(chain.gradientBytes[end] -
                                         chain.gradientBytes[first]);
  if (about.classes.size() == 1) {
    size_t c = about.classes.front();
    stage.forward = about.share * forward(c, first, end);
    stage.backward = about.share * backward(c, first, end);
    return stage;
  }
  std::vector<double> seconds;
  for (size_t device : group.devices)
    seconds.push_back(forward(classOf[device], first, end) +
                      backward(classOf[device], first, end));
  std::vector<double> shares =
      sharesOf(seconds, problem.model, problem.samples);
  for (size_t i = 0; i < shares.size(); ++i) {
    size_t c = classOf[group.devices[i]];
    stage.forward = std::max(stage.forward, shares[i] * forward(c, first, end));
    stage.backward =
        std::max(stage.backward, shares[i] * backward(c, first, end));
  }
  return stage;
}

DappleStage Costs::channel(size_t cut, const DappleGroup &from,
                           const DappleGroup &to) {
  auto [entry, isNew] =
      channels.try_emplace(uint64_t(from.id) << 32 | uint64_t(to.id));
  // Assume equal slices: unequal ones would depend on the layers.
  if (isNew)
    entry->second = lineOf([&](Bytes bytes) {
      return transferTime(network, from.devices, sharesFor(from), to.devices,
                          sharesFor(to), bytes);
    });
  const Linear &line = entry->second;
  DappleStage stage;
  stage.forward = line.of(chain.cuts[cut].forwardBytes);
  stage.backward = line.of(chain.cuts[cut].backwardBytes);
  return stage;
}

std::vector<double> Costs::leastLoad() const {
  std::vector<double> least;
  for (size_t layer = 0; layer < problem.layers.size(); ++layer) {
    double load = forward(0, layer, layer + 1) + backward(0, layer, layer + 1);
    for (size_t c = 1; c < chain.forward.size(); ++c)
      load = std::min(load, forward(c, layer, layer + 1) +
                                backward(c, layer, layer + 1));
    least.push_back(load);
  }
  return least;
}

std::vector<size_t> Costs::kindsOfHosts() const {
  std::vector<std::vector<size_t>> classes(network.numHosts());
  for (size_t device = 0; device < network.size(); ++device)
    classes[network.hostOf(device)].push_back(classOf[device]);
  std::map<std::pair<std::vector<size_t>, double>, size_t> numbers;
  std::vector<size_t> kinds;
  for (size_t host = 0; host < network.numHosts(); ++host)
    kinds.push_back(
        numbers.try_emplace({classes[host], network.nic(host)}, numbers.size())
            .first->second);
  return kinds;
}

double dappleSteps(const Problem &problem, const Network &network) {
  // Hosts of equal size are interchangeable: n hosts of s devices have
  // (n + s choose s) occupancies.
  std::vector<size_t> sizes(network.numHosts(), 0);
  for (size_t device = 0; device < network.size(); ++device)
    ++sizes[network.hostOf(device)];
  std::map<size_t, size_t> hosts;
  for (size_t size : sizes)
    ++hosts[size];
  double occupancies = 1;
  for (auto [size, count] : hosts)
    for (size_t i = 1; i <= size; ++i)
      occupancies *= double(count + i) / double(i);
  double layers = double(problem.layers.size());
  return occupancies * layers * layers * double(network.size());
}

std::vector<Plan> dapplePlans(const Problem &problem, const Network &network) {
  Costs costs(problem, network);
  DappleInput input;
  input.layers = problem.layers.size();
  input.microbatches = problem.microbatches;
  input.maxReplicas = problem.maxReplicas;
  input.stages = problem.stages;
  for (size_t device = 0; device < network.size(); ++device)
    input.hostOf.push_back(network.hostOf(device));
  input.kindOf = costs.kindsOfHosts();
  input.leastLoad = costs.leastLoad();
  input.stage = [&](size_t first, size_t end, const DappleGroup &group) {
    return costs.stage(first, end, group);
  };
  input.channel = [&](size_t cut, const DappleGroup &from,
                      const DappleGroup &to) {
    return costs.channel(cut, from, to);
  };
  std::vector<Plan> plans;
  for (const DapplePlan &found : searchDapple(input)) {
    Plan &plan = plans.emplace_back();
    plan.planner = "dapple";
    plan.objective = "latency";
    plan.value = found.latency;
    for (const DapplePlace &place : found.stages)
      plan.stages.push_back(
          stageOf(int64_t(place.first), int64_t(place.end), place.devices));
  }
  return plans;
}

Result<Plan> planDapple(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  std::optional<Error> misfit;
  for (Plan &plan : dapplePlans(problem, *network)) {
    // L does not model memory: take the plan of min L among those that fit.
    Status status = evaluate(problem, *network, plan);
    if (status)
      return plan;
    if (!misfit)
      misfit = status.error();
  }
  if (misfit)
    return *misfit;
  return Error{
      "planner 'dapple' finds no plan of " + std::to_string(problem.stages) +
      " stages for " + std::to_string(problem.layers.size()) + " layers on " +
      std::to_string(network->size()) + " devices; ask for fewer stages"};
}

} // namespace stagewright
