//===- AllPlans.cpp - every plan of a small problem -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomInstances.h"
#include <algorithm>
#include <limits>

namespace stagewright::testing {

namespace {
/// Visits all cuts and sets of devices from the first stage on; sets are bits.
class Enumerator {
public:
  Enumerator(const Problem &problem, const Network &network,
             const std::function<void(const PipelineModel &)> &visit)
      : problem(problem), network(network), visit(visit),
        layers(problem.layers.size()), all(size_t(1) << network.size()),
        stages(layers * (layers + 1) * all),
        channels((layers + 1) * all * all, -1) {
    model.microbatches = problem.microbatches;
    model.forwardOnly = problem.forwardOnly;
    for (size_t set = 1; set < all; ++set)
      for (size_t first = 0; first < layers; ++first)
        for (size_t end = first + 1; end <= layers; ++end)
          stages[at(first, end, set)] = stageOf(first, end, set);
  }

  void go(size_t first = 0, size_t free = ~size_t(0), size_t before = 0) {
    free &= all - 1;
    for (size_t set = free; set; set = (set - 1) & free)
      for (size_t end = first + 1; end <= layers; ++end) {
        push(first, end, set, before);
        if (end == layers)
          visit(model);
        else
          go(end, free & ~set, set);
        pop();
      }
  }

private:
  size_t at(size_t first, size_t end, size_t set) const {
    return (first * (layers + 1) + end) * all + set;
  }
  static std::vector<size_t> devicesOf(size_t set) {
    std::vector<size_t> devices;
    for (size_t d = 0; set >> d; ++d)
      if (set >> d & 1)
        devices.push_back(d);
    return devices;
  }

  PipelineStage stageOf(size_t first, size_t end, size_t set) const {
    std::vector<size_t> devices = devicesOf(set);
    StagePlan plan = stagewright::stageOf(first, end, devices);
    std::vector<double> shares = sharesOf(problem, plan);
    std::vector<size_t> classes = problem.cluster.classOfDevices();
    PipelineStage stage;
    double reduced = 0, running = 0, tail = 0;
    int64_t bytes = 0;
    for (size_t v = 0; v < devices.size(); ++v) {
      StageTimes times;
      for (size_t l = first; l < end; ++l) {
        const StageTimes &one = problem.layers[l].times[classes[devices[v]]];
        times.forward += shares[v] * one.forward;
        times.inputGradient += shares[v] * one.inputGradient;
      }
      stage.times.forward = std::max(stage.times.forward, times.forward);
      stage.times.inputGradient =
          std::max(stage.times.inputGradient, times.inputGradient);
    }
    for (size_t l = first; l < end; ++l) {
      for (const Resident &resident : problem.residents) {
        if (resident.layers.front() != int64_t(l))
          continue;
        bytes += resident.bytes.value;
        reduced += allReduceTime(network, devices, resident.bytes).value;
        if (resident.bytes.value > 0)
          tail = std::max(tail, reduced - running);
      }
      double slowest = 0;
      for (size_t v = 0; v < devices.size(); ++v)
        slowest = std::max(slowest, shares[v] * problem.layers[l]
                                                    .times[classes[devices[v]]]
                                                    .inputGradient.value);
      running += slowest;
    }
    stage.tail = problem.model.overlapAllReduce
                     ? Seconds(tail)
                     : allReduceTime(network, devices, Bytes(bytes));
    return stage;
  }

  double channelOf(size_t cut, size_t from, size_t to) {
    double &seconds = channels[(cut * all + from) * all + to];
    if (seconds >= 0)
      return seconds;
    auto shares = [&](size_t set) {
      std::vector<size_t> devices = devicesOf(set);
      return sharesOf(problem, stagewright::stageOf(0, layers, devices));
    };
    Bytes bytes;
    for (const LayerValue &value : problem.values)
      if (value.producer.phase == ActionKind::Forward &&
          value.producer.layer + 1 == int64_t(cut))
        bytes += value.bytes;
    return seconds = transferTime(network, devicesOf(from), shares(from),
                                  devicesOf(to), shares(to), bytes)
                         .value;
  }

  void push(size_t first, size_t end, size_t set, size_t before) {
    PipelineStage stage = stages[at(first, end, set)];
    stage.processors = {model.numProcessors++};
    model.stages.push_back(std::move(stage));
    if (!before)
      return;
    PipelineChannel channel;
    channel.from = model.stages.size() - 2;
    channel.to = channel.from + 1;
    channel.forward = channel.backward = Seconds(channelOf(first, before, set));
    channel.forwardLanes = channel.backwardLanes = {model.numLinks++};
    model.channels.push_back(std::move(channel));
  }

  void pop() {
    model.stages.pop_back();
    --model.numProcessors;
    if (model.channels.empty())
      return;
    model.channels.pop_back();
    --model.numLinks;
  }

  const Problem &problem;
  const Network &network;
  const std::function<void(const PipelineModel &)> &visit;
  size_t layers, all;
  std::vector<PipelineStage> stages;
  std::vector<double> channels;
  PipelineModel model;
};
} // namespace

void forEachPlan(const Problem &problem, const Network &network,
                 const std::function<void(const PipelineModel &)> &visit) {
  Enumerator(problem, network, visit).go();
}

/// A lower bound that uses no code under test: the first microbatch arrives,
/// all run on one stage or channel, then the last backward or the all-reduce.
static double leastTime(const PipelineModel &model) {
  double there = 0, back = 0, most = 0, count = double(model.microbatches);
  for (size_t s = 0; s < model.stages.size(); ++s) {
    if (s > 0) {
      double once = model.channels[s - 1].forward.value;
      most = std::max(most, there + 2 * count * once + back);
      there += once;
      back += once;
    }
    const PipelineStage &stage = model.stages[s];
    most = std::max(most, there + count * stage.times.total().value +
                              std::max(back, stage.tail.value));
    there += stage.times.forward.value;
    back += stage.backward().value;
  }
  return most;
}

double bestOfAllPlans(const Problem &problem, const Network &network,
                      double known) {
  double best = known;
  forEachPlan(problem, network, [&](const PipelineModel &model) {
    double least = leastTime(model);
    for (ExecutionOrder order :
         {ExecutionOrder::Window, ExecutionOrder::Greedy, ExecutionOrder::CapA,
          ExecutionOrder::EarlyBackward, ExecutionOrder::GPipe}) {
      if (least >= best * (1 - 1e-12))
        return;
      best = std::min(best, makespanOf(model, order).value);
    }
  });
  return best;
}

} // namespace stagewright::testing
