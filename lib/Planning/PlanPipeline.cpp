//===- PlanPipeline.cpp - builds the pipeline of a plan -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace stagewright {

namespace {
/// What one stage sends to another, in one direction, per microbatch.
struct Traffic {
  int64_t bytes = 0;
  Seconds given;
  bool any = false;

  void add(const Value &value) {
    any = true;
    if (value.transfer)
      given += *value.transfer;
    else
      bytes += value.bytes.value;
  }
};

/// A lane of the NIC of a host, or of the port of a device inside its host.
struct Lane {
  bool isPort;
  size_t owner, number;

  auto operator<=>(const Lane &) const = default;
};

/// Builds the pipeline of one plan.
class Builder {
public:
  Builder(const Problem &problem, const Network &network, Plan &plan)
      : problem(problem), network(network), plan(plan),
        classOf(problem.cluster.classOfDevices()) {}

  PipelineModel build();

private:
  void addStage(StagePlan &stage);
  void addTail(StagePlan &stage, PipelineStage &result,
               const std::vector<double> &shares) const;
  void addProcessors();
  void addCopies();
  void collectTraffic();
  std::set<int64_t> firstUsers(int64_t from,
                               const std::set<int64_t> &users) const;
  void carry(const Value &value, int64_t from, int64_t to);
  /// Replicas, and their shares of a microbatch.
  struct Runners {
    std::vector<size_t> devices;
    std::vector<double> shares;
  };
  Runners runnersOf(int64_t stage, int64_t m) const;
  void addChannels();
  void addChannel(int64_t from, int64_t to, const Traffic &forward,
                  const Traffic &backward);
  std::vector<size_t> sharedLinks(int64_t fromStage, int64_t toStage,
                                  const std::vector<size_t> &from,
                                  const std::vector<size_t> &to);
  Seconds leastLatency(const StagePlan &from, const StagePlan &to) const;
  void addTies();
  size_t linkOf(const Lane &lane, bool leaving);

  const Problem &problem;
  const Network &network;
  Plan &plan;
  std::vector<size_t> classOf;             ///< By device.
  std::vector<int64_t> stageOf;            ///< By layer.
  std::vector<std::vector<double>> shares; ///< By stage and replica.
  /// By (from, to), from < to: the traffic from -> to, and back.
  std::map<std::pair<int64_t, int64_t>, std::pair<Traffic, Traffic>> traffic;
  std::map<int64_t, int64_t> partners; ///< By stage: number of its channels.
  std::map<std::pair<Lane, bool>, size_t> links;
  PipelineModel model;
};
} // namespace

PipelineModel Builder::build() {
  model.microbatches = problem.microbatches;
  model.forwardOnly = problem.forwardOnly;
  stageOf.assign(problem.layers.size(), 0);
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (int64_t layer : plan.stages[s].layers)
      stageOf[layer] = s;
  for (StagePlan &stage : plan.stages)
    addStage(stage);
  addProcessors();
  addCopies();
  collectTraffic();
  addChannels();
  addTies();
  return std::move(model);
}

StageTimes timesOfLayer(const Problem &problem, const StagePlan &stage,
                        size_t number, size_t deviceClass) {
  const Layer &layer = problem.layers[stage.layers[number]];
  StageTimes times = layer.times[deviceClass];
  times.inputGradient += layer.again(stage.levelOf(number), deviceClass);
  return times;
}

/// A stage has the times of its slowest replica; its all-reduce waits for that.
void Builder::addStage(StagePlan &stage) {
  shares.push_back(sharesOf(problem, stage));
  StageTimes slowest;
  for (size_t v = 0; v < stage.devices.size(); ++v) {
    double share = shares.back()[v];
    StageTimes times;
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      StageTimes one =
          timesOfLayer(problem, stage, i, classOf[stage.devices[v]]);
      times.forward += share * one.forward;
      times.inputGradient += share * one.inputGradient;
      times.weightGradient += share * one.weightGradient;
    }
    if (stage.recompute)
      times.inputGradient += times.forward;
    slowest.forward = std::max(slowest.forward, times.forward);
    if (times.inputGradient + times.weightGradient >
        slowest.inputGradient + slowest.weightGradient) {
      slowest.inputGradient = times.inputGradient;
      slowest.weightGradient = times.weightGradient;
    }
  }
  stage.times = slowest;
  stage.copying = copyingTime(problem, stage);
  PipelineStage result;
  result.times = slowest;
  result.copying = stage.copying;
  result.leavingSlots = size_t(slotsLeaving(plan.orderName()));
  addTail(stage, result, shares.back());
  model.stages.push_back(std::move(result));
}

/// Computes the tail: the part of the all-reduce after the last backward. The
/// gradients of a layer can be reduced after its own last backward. Backwards
/// run from the last layer of a stage to the first; collectives run one after
/// another in the same order.
void Builder::addTail(StagePlan &stage, PipelineStage &result,
                      const std::vector<double> &shares) const {
  stage.allReduce = stage.tail = Seconds();
  if (stage.devices.size() < 2 || stage.ways > 1 || problem.forwardOnly)
    return;
  std::map<int64_t, int64_t> bytes; // By the first layer of this stage.
  for (const Resident &resident : problem.residents) {
    if (resident.kind != ResidentKind::Gradient)
      continue;
    size_t here = &stage - plan.stages.data();
    for (int64_t layer : resident.layers)
      if (stageOf[layer] == int64_t(here)) {
        bytes[layer] += resident.bytes.value;
        break;
      }
  }
  if (!problem.model.overlapAllReduce) {
    int64_t sum = 0;
    for (auto [layer, count] : bytes)
      sum += count;
    stage.allReduce = allReduceTime(network, stage.devices, Bytes(sum));
    stage.tail = result.tail = stage.allReduce;
    return;
  }
  // For each layer: the all-reduces of it and of the layers before it, which
  // start after its backward, less the backwards that still run then.
  Seconds reduced, running;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    int64_t layer = stage.layers[i];
    if (auto found = bytes.find(layer); found != bytes.end()) {
      reduced += allReduceTime(network, stage.devices, Bytes(found->second));
      stage.tail = std::max(stage.tail, reduced - running);
    }
    Seconds slowest;
    for (size_t v = 0; v < stage.devices.size(); ++v) {
      StageTimes one =
          timesOfLayer(problem, stage, i, classOf[stage.devices[v]]);
      slowest = std::max(slowest,
                         shares[v] * (one.inputGradient + one.weightGradient));
    }
    running += slowest;
  }
  stage.allReduce = reduced;
  result.tail = stage.tail;
  result.overlapped = reduced - stage.tail;
}

/// Stages that share a device share a processor. Replicas that take turns have
/// one each.
void Builder::addProcessors() {
  std::vector<size_t> parent(problem.cluster.devices.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](size_t device) {
    while (parent[device] != device)
      device = parent[device] = parent[parent[device]];
    return device;
  };
  for (const StagePlan &stage : plan.stages)
    if (!takesTurns(problem, stage))
      for (size_t device : stage.devices)
        parent[find(device)] = find(stage.devices.front());
  std::map<size_t, size_t> numbers;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan &stage = plan.stages[s];
    size_t count = takesTurns(problem, stage) ? stage.devices.size() : 1;
    for (size_t i = 0; i < count; ++i)
      model.stages[s].processors.push_back(
          numbers.try_emplace(find(stage.devices[i]), numbers.size())
              .first->second);
  }
  model.numProcessors = numbers.size();
}

/// Each device has one copy engine to its host and another one from it.
void Builder::addCopies() {
  std::map<size_t, std::pair<size_t, size_t>> engines; // By processor.
  for (PipelineStage &stage : model.stages)
    if (stage.copying > Seconds())
      for (size_t processor : stage.processors) {
        auto [engine, isNew] = engines.try_emplace(processor);
        if (isNew) {
          engine->second = {model.numLinks, model.numLinks + 1};
          model.numLinks += 2;
        }
        stage.leavingLanes.push_back(engine->second.first);
        stage.comingLanes.push_back(engine->second.second);
      }
}

/// Of stages on the same devices, the one that uses a value of stage `from`
/// first: that nearest to `from`.
std::set<int64_t> Builder::firstUsers(int64_t from,
                                      const std::set<int64_t> &users) const {
  std::map<std::vector<size_t>, int64_t> first;
  auto distance = [&](int64_t stage) { return std::abs(stage - from); };
  for (int64_t user : users) {
    int64_t &nearest =
        first.try_emplace(plan.stages[size_t(user)].devices, user)
            .first->second;
    // Backwards run from late stages to early ones.
    if ((user < from) == (nearest < from) && distance(user) < distance(nearest))
      nearest = user;
  }
  std::set<int64_t> result;
  for (const auto &[devices, user] : first)
    result.insert(user);
  return result;
}

/// A value is sent once to each stage that uses it: directly if `directSkips`,
/// else from stage to stage, once over every cut on its way. Between shards it
/// is sent once to each device (pipeline-send-once).
void Builder::collectTraffic() {
  for (const Value &value : problem.values) {
    int64_t from = stageOf[value.producer.layer];
    std::set<int64_t> users;
    for (const LayerPhase &use : value.uses)
      if (stageOf[use.layer] != from)
        users.insert(stageOf[use.layer]);
    if (users.empty())
      continue;
    if (problem.model.directSkips) {
      for (int64_t to :
           problem.model.sharesRings ? firstUsers(from, users) : users)
        carry(value, from, to);
      continue;
    }
    for (int64_t s = from; s < *users.rbegin(); ++s)
      carry(value, s, s + 1);
    for (int64_t s = from; s > *users.begin(); --s)
      carry(value, s, s - 1);
  }
}

void Builder::carry(const Value &value, int64_t from, int64_t to) {
  auto &[forward, backward] = traffic[{std::min(from, to), std::max(from, to)}];
  (from < to ? forward : backward).add(value);
}

size_t Builder::linkOf(const Lane &lane, bool leaving) {
  auto [entry, isNew] = links.try_emplace({lane, leaving}, model.numLinks);
  if (isNew)
    ++model.numLinks;
  return entry->second;
}

/// The lanes of NICs and ports on which a transfer between replicas of two
/// stages may have to wait: for other devices of the host, or for other
/// messages of the same stage (a shard of a layer sends to all others). Stages
/// with at most two channels, as in a chain, do not wait for their own
/// messages.
std::vector<size_t> Builder::sharedLinks(int64_t fromStage, int64_t toStage,
                                         const std::vector<size_t> &from,
                                         const std::vector<size_t> &to) {
  if (!problem.model.sharedNics)
    return {};
  constexpr int64_t kOfChain = 2;
  bool manyLeave = partners[fromStage] > kOfChain;
  bool manyEnter = partners[toStage] > kOfChain;
  std::set<Lane> leaving, entering;
  auto add = [&](size_t device, size_t peer, bool many, std::set<Lane> &lanes) {
    size_t host = network.hostOf(device);
    bool isInside = host == network.hostOf(peer);
    auto lane =
        isInside ? network.portLane(device, peer) : network.lane(device, peer);
    if (lane && (many || (!isInside && network.sharesNic(host))))
      lanes.insert({isInside, isInside ? device : host, *lane});
  };
  for (size_t u : from)
    for (size_t v : to)
      if (u != v) {
        add(u, v, manyLeave, leaving);
        add(v, u, manyEnter, entering);
      }
  std::vector<size_t> shared;
  for (const Lane &lane : leaving)
    shared.push_back(linkOf(lane, true));
  for (const Lane &lane : entering)
    shared.push_back(linkOf(lane, false));
  return shared;
}

/// The min latency between devices of two stages.
Seconds Builder::leastLatency(const StagePlan &from,
                              const StagePlan &to) const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t u : from.devices)
    for (size_t v : to.devices)
      least = std::min(least, u == v ? 0 : network.latency(u, v));
  return Seconds(least);
}

/// The replicas of a stage that run microbatch `m`, and their shares of it.
Builder::Runners Builder::runnersOf(int64_t stage, int64_t m) const {
  const StagePlan &own = plan.stages[size_t(stage)];
  if (!takesTurns(problem, own))
    return {own.devices, shares[size_t(stage)]};
  return {{own.devices[size_t(m) % own.devices.size()]}, {1}};
}

/// Adds the channel between two stages. If replicas take turns, each lane has
/// the transfers of every so many microbatches; all take the time of the
/// slowest.
void Builder::addChannel(int64_t from, int64_t to, const Traffic &forward,
                         const Traffic &backward) {
  PipelineChannel channel;
  channel.from = size_t(from);
  channel.to = size_t(to);
  channel.hasForward = forward.any;
  channel.hasBackward = backward.any;
  channel.latency =
      leastLatency(plan.stages[size_t(from)], plan.stages[size_t(to)]);
  int64_t senders = turnsOf(problem, plan.stages[size_t(from)]),
          receivers = turnsOf(problem, plan.stages[size_t(to)]);
  auto lanes = size_t(std::max(senders, receivers));
  std::vector<std::set<size_t>> sent(lanes), returned(lanes);
  auto addAll = [](const std::vector<size_t> &links, std::set<size_t> &all) {
    all.insert(links.begin(), links.end());
  };
  for (int64_t m = 0; m < std::lcm(senders, receivers); ++m) {
    Runners here = runnersOf(from, m), there = runnersOf(to, m);
    auto seconds = [&](const Traffic &what) {
      return transferTime(network, here.devices, here.shares, there.devices,
                          there.shares, Bytes(what.bytes), what.given);
    };
    channel.forward = std::max(channel.forward, seconds(forward));
    channel.backward = std::max(channel.backward, seconds(backward));
    addAll(sharedLinks(from, to, here.devices, there.devices),
           sent[size_t(m) % lanes]);
    addAll(sharedLinks(to, from, there.devices, here.devices),
           returned[size_t(m) % lanes]);
  }
  for (size_t i = 0; i < lanes; ++i)
    channel.forwardLanes.push_back(model.numLinks++);
  if (problem.model.halfDuplex)
    channel.backwardLanes = channel.forwardLanes;
  else
    for (size_t i = 0; i < lanes; ++i)
      channel.backwardLanes.push_back(model.numLinks++);
  auto lists = [](const std::vector<std::set<size_t>> &all) {
    std::vector<std::vector<size_t>> shared;
    for (const std::set<size_t> &links : all)
      shared.emplace_back(links.begin(), links.end());
    bool isNone = std::all_of(all.begin(), all.end(),
                              [](const auto &links) { return links.empty(); });
    return isNone ? std::vector<std::vector<size_t>>() : shared;
  };
  channel.forwardShared = lists(sent);
  channel.backwardShared = lists(returned);
  model.channels.push_back(std::move(channel));
}

void Builder::addChannels() {
  for (const auto &[ends, both] : traffic) {
    ++partners[ends.first];
    ++partners[ends.second];
  }
  for (const auto &[ends, both] : traffic)
    addChannel(ends.first, ends.second, both.first, both.second);
}

/// A stage that holds a copy of a parameter sends its gradient to the owner
/// after its replicas have summed it, and gets the new value before the next
/// step.
void Builder::addTies() {
  if (problem.forwardOnly)
    return;
  std::map<std::pair<int64_t, int64_t>, int64_t> bytes;
  for (const Resident &resident : problem.residents) {
    if (resident.kind != ResidentKind::Gradient || resident.layers.empty())
      continue;
    int64_t owner = stageOf[resident.layers.front()];
    std::set<int64_t> copies;
    for (int64_t layer : resident.layers)
      if (stageOf[layer] != owner)
        copies.insert(stageOf[layer]);
    for (int64_t copy : copies)
      bytes[{copy, owner}] += resident.bytes.value;
  }
  for (auto [ends, count] : bytes) {
    auto [copy, owner] = ends;
    Seconds once =
        transferTime(network, plan.stages[copy].devices.front(),
                     plan.stages[owner].devices.front(), Bytes(count));
    model.ties.push_back({size_t(copy), size_t(owner), once + once});
  }
}

PipelineModel pipelineOf(const Problem &problem, const Network &network,
                         Plan &plan) {
  return Builder(problem, network, plan).build();
}

} // namespace stagewright
