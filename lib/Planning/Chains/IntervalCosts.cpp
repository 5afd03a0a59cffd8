//===- IntervalCosts.cpp - loads and memory of [first, end) ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains/IntervalCosts.h"
#include "stagewright/Planning/Evaluate.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

IntervalCosts::IntervalCosts(const Problem &problem, const Network &network)
    : problem(problem), network(network) {
  std::vector<size_t> classes = problem.cluster.classOfDevices();
  for (int64_t stage = 0; stage < problem.stages; ++stage) {
    int64_t least = problem.microbatches;
    for (ExecutionOrder order : problem.orders)
      least = std::min(least, inFlightOf(order, problem.stages - stage,
                                         problem.microbatches));
    inFlight.push_back(problem.forwardOnly ? 0 : least);
    classOf.push_back(classes[stage]);
  }
  sumTimes();
  sumCuts();
  sumHeld();
}

void IntervalCosts::sumTimes() {
  size_t classes = problem.layers.front().times.size();
  prefix.assign(classes, std::vector<StageTimes>(problem.layers.size() + 1));
  for (size_t c = 0; c < classes; ++c)
    for (size_t layer = 0; layer < problem.layers.size(); ++layer) {
      StageTimes &sum = prefix[c][layer + 1];
      const StageTimes &times = problem.layers[layer].times[c];
      sum = prefix[c][layer];
      sum.forward += times.forward;
      sum.inputGradient += times.inputGradient;
      sum.weightGradient += times.weightGradient;
    }
}

StageTimes IntervalCosts::times(int64_t stage, int64_t first,
                                int64_t end) const {
  const StageTimes &high = prefix[classOf[stage]][end];
  const StageTimes &low = prefix[classOf[stage]][first];
  return {high.forward - low.forward, high.inputGradient - low.inputGradient,
          high.weightGradient - low.weightGradient};
}

void IntervalCosts::sumCuts() {
  // A value crosses every cut between its producer and its farthest use, once.
  size_t cuts = problem.layers.size() + 1;
  forwardBytes.assign(cuts, 0);
  backwardBytes.assign(cuts, 0);
  for (const Value &value : problem.values) {
    int64_t low = value.producer.layer, high = low;
    for (const LayerPhase &use : value.uses) {
      low = std::min(low, use.layer);
      high = std::max(high, use.layer);
    }
    for (int64_t cut = low + 1; cut <= high; ++cut)
      (cut > value.producer.layer ? forwardBytes : backwardBytes)[cut] +=
          value.bytes.value;
  }
}

Seconds IntervalCosts::transfer(int64_t stage, int64_t cut) const {
  Seconds time;
  for (int64_t bytes : {forwardBytes[cut], backwardBytes[cut]})
    time += transferTime(network, {size_t(stage - 1)}, {1.0}, {size_t(stage)},
                         {1.0}, Bytes(bytes));
  return time;
}

void IntervalCosts::sumHeld() {
  int64_t layers = problem.layers.size();
  // What touches a layer: residents first, then values.
  std::vector<std::vector<size_t>> residentsOf(layers), valuesOf(layers);
  for (size_t i = 0; i < problem.residents.size(); ++i)
    for (int64_t layer : problem.residents[i].layers)
      residentsOf[layer].push_back(i);
  for (size_t i = 0; i < problem.values.size(); ++i) {
    valuesOf[problem.values[i].producer.layer].push_back(i);
    for (const LayerPhase &use : problem.values[i].uses)
      valuesOf[use.layer].push_back(i);
  }
  /// What of a value lies in the interval so far.
  struct Inside {
    bool producer = false, forwardUse = false, backwardUse = false;
  };
  held.resize(layers);
  for (int64_t first = 0; first < layers; ++first) {
    std::vector<bool> resident(problem.residents.size(), false);
    std::vector<Inside> inside(problem.values.size());
    StageMemory sum;
    auto slotOf = [&](const Value &value, const Inside &in) -> int64_t * {
      bool forward = value.producer.phase == ActionKind::Forward;
      if (in.producer)
        return forward && in.backwardUse ? &sum.stash : nullptr;
      if (forward && in.backwardUse)
        return &sum.receivedStash;
      return in.forwardUse || in.backwardUse ? &sum.received : nullptr;
    };
    for (int64_t layer = first; layer < layers; ++layer) {
      for (size_t i : residentsOf[layer]) {
        const Resident &entry = problem.residents[i];
        if (!resident[i])
          (entry.kind == ResidentKind::PerMicrobatch ? sum.perMicrobatch
                                                     : sum.once) +=
              entry.bytes.value;
        // The optimizer's state lies with the first layer that has it.
        if (entry.kind == ResidentKind::Parameter && !resident[i] &&
            entry.layers.front() == layer)
          sum.once += std::llround(problem.model.optimizerState *
                                   double(entry.bytes.value));
        resident[i] = true;
      }
      for (size_t i : valuesOf[layer]) {
        const Value &value = problem.values[i];
        Inside &in = inside[i];
        if (int64_t *slot = slotOf(value, in))
          *slot -= value.bytes.value;
        in.producer |= value.producer.layer == layer;
        for (const LayerPhase &use : value.uses)
          if (use.layer == layer)
            (use.phase == ActionKind::Forward ? in.forwardUse
                                              : in.backwardUse) = true;
        if (int64_t *slot = slotOf(value, in))
          *slot += value.bytes.value;
      }
      held[first].push_back(sum);
    }
  }
}

Bytes IntervalCosts::memory(int64_t stage, int64_t first, int64_t end) const {
  return held[first][end - first - 1].with(inFlight[stage],
                                           problem.microbatches, 1);
}

} // namespace stagewright
