//===- WindowBound.cpp - upper bound for the window order -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace stagewright {

/// The root of `link` in a union-find.
static size_t rootOf(std::vector<size_t> &parent, size_t link) {
  while (parent[link] != link)
    link = parent[link] = parent[parent[link]];
  return link;
}

/// Links that one channel holds at the same time form a group. Returns the max
/// seconds of all transfers of a group in one window: in that time they fit one
/// after another.
static double largestLinkLoad(const PipelineModel &model) {
  std::vector<size_t> parent(model.numLinks);
  std::iota(parent.begin(), parent.end(), 0);
  auto linksOf = [](const PipelineChannel &channel) {
    std::vector<size_t> links;
    auto add = [&](const std::vector<size_t> &some) {
      links.insert(links.end(), some.begin(), some.end());
    };
    add(channel.forwardLanes);
    add(channel.backwardLanes);
    for (const auto *shared : {&channel.forwardShared, &channel.backwardShared})
      for (const std::vector<size_t> &ofLane : *shared)
        add(ofLane);
    return links;
  };
  double most = 0;
  std::map<size_t, double> groups;
  // Full-duplex lanes that only one channel holds need no group: each carries
  // one transfer per window.
  for (const PipelineChannel &channel : model.channels)
    if (!channel.forwardShared.empty() || !channel.backwardShared.empty() ||
        channel.forwardLanes == channel.backwardLanes) {
      std::vector<size_t> links = linksOf(channel);
      for (size_t link : links)
        parent[rootOf(parent, link)] = rootOf(parent, links.front());
    }
  for (const PipelineChannel &channel : model.channels) {
    if (channel.hasForward)
      groups[rootOf(parent, channel.forwardLanes.front())] +=
          channel.forward.value;
    if (channel.hasBackward && !model.forwardOnly)
      groups[rootOf(parent, channel.backwardLanes.front())] +=
          channel.backward.value;
  }
  for (auto [link, load] : groups)
    most = std::max(most, load);
  return most;
}

std::optional<Seconds> windowUpperBound(const PipelineModel &model) {
  std::vector<bool> isTaken(model.numProcessors, false);
  double window = largestLinkLoad(model);
  for (const PipelineStage &stage : model.stages) {
    if (stage.processors.size() != 1 || isTaken[stage.processors.front()] ||
        model.collectiveSlowdown > 1 || !stage.leavingLanes.empty())
      return std::nullopt;
    isTaken[stage.processors.front()] = true;
    window = std::max(window, model.forwardOnly ? stage.times.forward.value
                                                : stage.times.total().value);
  }
  for (const PipelineChannel &channel : model.channels)
    if (channel.forwardLanes.size() != 1 || channel.backwardLanes.size() != 1)
      return std::nullopt;
  double stages = double(model.stages.size());
  double count = double(model.microbatches);
  if (model.forwardOnly)
    return Seconds((count + 2 * stages - 2) * window);
  auto lastBackward = [&](size_t s) {
    return (count + 4 * stages - 4 - 2 * double(s)) * window;
  };
  double most = 0;
  for (size_t s = 0; s < model.stages.size(); ++s)
    most = std::max(most, lastBackward(s) + model.stages[s].tail.value);
  for (const PipelineTie &tie : model.ties)
    most = std::max(most, lastBackward(tie.from) + tie.seconds.value);
  return Seconds(most);
}

} // namespace stagewright
