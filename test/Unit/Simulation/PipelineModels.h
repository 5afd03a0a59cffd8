//===- PipelineModels.h - pipelines shared by tests -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SIMULATION_PIPELINEMODELS_H
#define STAGEWRIGHT_TEST_UNIT_SIMULATION_PIPELINEMODELS_H

#include "stagewright/Simulation/Pipeline.h"
#include <random>

namespace stagewright {

/// A chain: stage n is on processor n, with half-duplex channels between
/// consecutive stages.
inline PipelineModel chainModel(const std::vector<double> &forward,
                                const std::vector<double> &backward,
                                const std::vector<double> &channels,
                                int64_t microbatches) {
  PipelineModel model;
  for (size_t n = 0; n < forward.size(); ++n) {
    PipelineStage stage;
    stage.times = {Seconds(forward[n]), Seconds(backward[n]), Seconds()};
    stage.processors = {n};
    model.stages.push_back(stage);
  }
  for (size_t n = 0; n < channels.size(); ++n) {
    PipelineChannel channel;
    channel.from = n;
    channel.to = n + 1;
    channel.forward = channel.backward = Seconds(channels[n]);
    channel.forwardLanes = channel.backwardLanes = {n};
    model.channels.push_back(channel);
  }
  model.numProcessors = forward.size();
  model.numLinks = channels.size();
  model.microbatches = microbatches;
  return model;
}

/// A random pipeline: a graph of stages, replicas that take turns, shared
/// processors and links, times from 0 to 9 seconds.
inline PipelineModel randomModel(std::mt19937 &random) {
  auto below = [&](size_t count) -> size_t { return random() % count; };
  auto time = [&] { return Seconds(double(below(10))); };
  PipelineModel model;
  size_t stages = 1 + below(5);
  model.numProcessors = 1 + below(2 * stages);
  model.numLinks = 1 + below(6);
  model.microbatches = int64_t(1 + below(8));
  model.forwardOnly = below(8) == 0;
  bool dedicated = below(2) == 0;
  if (dedicated)
    model.numProcessors = stages;
  for (size_t n = 0; n < stages; ++n) {
    PipelineStage stage;
    stage.times = {time(), time(), time()};
    stage.tail = below(2) ? time() : Seconds();
    stage.overlapped = below(3) ? Seconds() : time();
    stage.processors = {dedicated ? n : below(model.numProcessors)};
    for (size_t p = 0; !dedicated && p < model.numProcessors; ++p)
      if (p != stage.processors[0] && below(4) == 0)
        stage.processors.push_back(p);
    model.stages.push_back(stage);
  }
  auto some = [&](size_t least) {
    std::vector<size_t> links;
    for (size_t link = 0; link < model.numLinks; ++link)
      if (below(3) == 0)
        links.push_back(link);
    while (links.size() < least)
      links.push_back(below(model.numLinks));
    return links;
  };
  for (size_t to = 1; to < stages; ++to)
    for (size_t from = 0; from < to; ++from) {
      if (from + 1 != to && below(3) != 0)
        continue;
      PipelineChannel channel;
      channel.from = from;
      channel.to = to;
      channel.forward = time();
      channel.backward = time();
      channel.hasForward = below(6) != 0;
      channel.hasBackward = below(6) != 0;
      channel.forwardLanes = some(1);
      channel.backwardLanes = below(2) ? channel.forwardLanes : some(1);
      if (below(2)) {
        // One list for all lanes, or one for each.
        auto lists = [&](const std::vector<size_t> &lanes) {
          std::vector<std::vector<size_t>> shared;
          for (size_t i = 0, count = below(2) ? 1 : lanes.size(); i < count;
               ++i)
            shared.push_back(some(0));
          return shared;
        };
        channel.forwardShared = lists(channel.forwardLanes);
        channel.backwardShared = lists(channel.backwardLanes);
        channel.latency = below(2) ? time() : Seconds();
      }
      model.channels.push_back(channel);
    }
  if (stages > 1 && below(3) == 0)
    model.ties.push_back({stages - 1, 0, time()});
  return model;
}

} // namespace stagewright

#endif // STAGEWRIGHT_TEST_UNIT_SIMULATION_PIPELINEMODELS_H
