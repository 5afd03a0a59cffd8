//===- PipelineRows.cpp - the blocks of a pipeline, row by row ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineRows.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

TickScale TickScale::of(const PipelineModel &model) {
  double longest = 0, once = 0, each = 0;
  auto seen = [&](Seconds seconds, double &sum) {
    longest = std::max(longest, seconds.value);
    sum += seconds.value;
  };
  for (const PipelineStage &stage : model.stages) {
    seen(stage.times.forward, each);
    seen(stage.times.forward, each); // It may be recomputed.
    seen(stage.backward(), each);
    seen(stage.copying, each);
    seen(stage.copying, each);
    seen(stage.tail, once);
    seen(stage.overlapped, once);
  }
  for (const PipelineChannel &channel : model.channels) {
    seen(channel.forward, each);
    seen(channel.backward, each);
  }
  for (const PipelineTie &tie : model.ties)
    seen(tie.seconds, once);
  // If all channels share a link, their transfers slow each other down.
  if (model.sharing != LinkSharing::Turns)
    each *= 2 * static_cast<double>(std::max<size_t>(1, model.channels.size()));
  // An upper bound on the makespan: everything runs one after another.
  double all = (once + each * static_cast<double>(model.microbatches)) *
               std::max(1.0, model.collectiveSlowdown);
  double mostTicks = std::min(1e14, 4e18 * (longest / all));
  TickScale scale;
  if (longest == 0)
    return scale;
  double exponent = std::floor(std::log10(mostTicks / longest));
  exponent = std::clamp(exponent, -300.0, 300.0);
  scale.divides = exponent < 0;
  scale.power = std::pow(10.0, std::abs(exponent));
  return scale;
}

Ticks TickScale::ticks(Seconds seconds) const {
  return std::llround(divides ? seconds.value / power : seconds.value * power);
}

Seconds TickScale::seconds(Ticks ticks) const {
  double value = static_cast<double>(ticks);
  return Seconds(divides ? value * power : value / power);
}

uint32_t PipelineRows::add(PipelineRow row) {
  rows.push_back(row);
  return static_cast<uint32_t>(rows.size() - 1);
}

Part PipelineRows::append(const std::vector<size_t> &resources, size_t offset) {
  Part part;
  part.begin = static_cast<uint32_t>(numbers.size());
  for (size_t resource : resources)
    numbers.push_back(static_cast<uint32_t>(offset + resource));
  part.end = static_cast<uint32_t>(numbers.size());
  return part;
}

/// The depth of a stage is the longest path to it over all channels without a
/// distance. Channels that only carry gradients count too.
void PipelineRows::findDepths(const PipelineModel &model) {
  depths.assign(model.stages.size(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const PipelineChannel &channel : model.channels)
      if (channel.distance == 0 && depths[channel.to] <= depths[channel.from]) {
        depths[channel.to] = depths[channel.from] + 1;
        changed = true;
      }
  }
  deepest = *std::max_element(depths.begin(), depths.end());
}

void PipelineRows::addStages(const PipelineModel &model,
                             const SplitBackwards *split) {
  size_t stages = model.stages.size();
  forwardOf.assign(stages, kNoRow);
  gradientOf.assign(stages, kNoRow);
  tails.resize(stages);
  overlapped.resize(stages);
  for (uint32_t number = 0; number < stages; ++number) {
    const PipelineStage &stage = model.stages[number];
    PipelineRow row;
    row.number = number;
    row.lanes = append(stage.processors, 0);
    row.duration = scale.ticks(stage.times.forward);
    row.window = 2 * depths[number];
    row.frees = model.forwardOnly;
    forwardOf[number] = add(row);
    tails[number] = scale.ticks(stage.tail);
    overlapped[number] = scale.ticks(stage.overlapped);
    if (model.forwardOnly)
      continue;

    uint32_t before = forwardOf[number];
    auto follow = [&](BlockKind kind, Seconds seconds) {
      row.kind = kind;
      row.duration = scale.ticks(seconds);
      uint32_t next = add(row);
      edges.emplace_back(before, next);
      return before = next;
    };
    if (split && split->recompute[number])
      follow(BlockKind::Recompute, stage.times.forward);
    row.backward = true;
    row.window = 4 * deepest - 2 * depths[number];
    bool apart = split && split->apart[number];
    row.frees = !apart;
    gradientOf[number] =
        apart ? follow(BlockKind::InputGradient, stage.times.inputGradient)
              : follow(BlockKind::Backward, stage.backward());
    row.frees = true;
    if (apart)
      follow(BlockKind::WeightGradient, stage.times.weightGradient);
    rows.back().lastExtra = scale.ticks(
        stage.overlapped * (std::max(1.0, model.collectiveSlowdown) - 1));
  }
}

/// The copy of a stage's stash to the host is in the window of its forward. The
/// copy back is in the last window before that of its backward; on the deepest
/// stage it is in the one window of forward and backward.
void PipelineRows::addCopies(const PipelineModel &model) {
  for (uint32_t number = 0; number < model.stages.size(); ++number) {
    const PipelineStage &stage = model.stages[number];
    if (stage.leavingLanes.empty() || model.forwardOnly)
      continue;
    bool isDeepest = depths[number] == deepest;
    PipelineRow row;
    row.number = number;
    row.transfer = true;
    row.duration = scale.ticks(stage.copying);
    row.kind = BlockKind::Offload;
    row.window = 2 * depths[number];
    row.lanes = append(stage.leavingLanes, model.numProcessors);
    uint32_t leaves = add(row);
    row.kind = BlockKind::Fetch;
    row.window = isDeepest ? row.window : 4 * deepest - 2 * depths[number] - 1;
    row.lanes = append(stage.comingLanes, model.numProcessors);
    uint32_t comes = add(row);
    edges.emplace_back(forwardOf[number], leaves);
    edges.emplace_back(leaves, comes);
    edges.emplace_back(comes, gradientOf[number]);
    auto free = [&](uint32_t by, uint32_t of, size_t slots) {
      auto all = static_cast<uint32_t>(slots * stage.processors.size());
      rows[by].makesFree = of;
      rows[by].madeSlots = all;
    };
    size_t last = find(BlockKind::WeightGradient, number);
    free(leaves, forwardOf[number], stage.leavingSlots);
    free(last < rows.size() ? static_cast<uint32_t>(last) : gradientOf[number],
         comes, 2);
  }
}

Part PipelineRows::appendShared(const std::vector<std::vector<size_t>> &ofLanes,
                                size_t offset) {
  auto begin = static_cast<uint32_t>(sharedParts.size());
  for (const std::vector<size_t> &resources : ofLanes)
    sharedParts.push_back(append(resources, offset));
  return {begin, static_cast<uint32_t>(sharedParts.size())};
}

void PipelineRows::addChannels(const PipelineModel &model) {
  for (uint32_t number = 0; number < model.channels.size(); ++number) {
    const PipelineChannel &channel = model.channels[number];
    PipelineRow row;
    row.number = number;
    row.transfer = true;
    auto timed = [&](Seconds seconds) {
      row.duration = scale.ticks(seconds);
      row.latency = std::min(row.duration, scale.ticks(channel.latency));
    };
    if (channel.hasForward) {
      row.kind = BlockKind::SendForward;
      timed(channel.forward);
      row.window = 2 * depths[channel.from] + 1;
      row.lanes = append(channel.forwardLanes, model.numProcessors);
      row.shared = appendShared(channel.forwardShared, model.numProcessors);
      uint32_t send = add(row);
      edges.emplace_back(forwardOf[channel.from], send);
      if (channel.distance == 0) {
        edges.emplace_back(send, forwardOf[channel.to]);
      } else {
        rows[send].makesFree = forwardOf[channel.to];
        rows[send].madeSlots = static_cast<uint32_t>(
            std::min(channel.distance, model.microbatches));
      }
    }
    if (channel.hasBackward && !model.forwardOnly) {
      row.kind = BlockKind::SendBackward;
      row.backward = true;
      timed(channel.backward);
      row.window = 4 * deepest - 2 * depths[channel.to] + 1;
      row.lanes = append(channel.backwardLanes, model.numProcessors);
      row.shared = appendShared(channel.backwardShared, model.numProcessors);
      uint32_t send = add(row);
      edges.emplace_back(gradientOf[channel.to], send);
      edges.emplace_back(send, gradientOf[channel.from]);
    }
  }
}

/// Converts the edges into lists of predecessors and successors of every row.
void PipelineRows::link() {
  auto list = [&](Part PipelineRow::*part, auto own, auto other) {
    for (const auto &edge : edges)
      ++(rows[own(edge)].*part).end;
    uint32_t next = static_cast<uint32_t>(numbers.size());
    numbers.resize(next + edges.size());
    for (PipelineRow &row : rows) {
      uint32_t count = (row.*part).end;
      row.*part = {next, next};
      next += count;
    }
    for (const auto &edge : edges)
      numbers[(rows[own(edge)].*part).end++] = other(edge);
  };
  auto first = [](const auto &edge) { return edge.first; };
  auto second = [](const auto &edge) { return edge.second; };
  list(&PipelineRow::before, second, first);
  list(&PipelineRow::after, first, second);
  edges.clear();
  for (uint32_t row = 0; row < rows.size(); ++row)
    if (rows[row].makesFree != kNoRow)
      edges.emplace_back(row, rows[row].makesFree);
  list(&PipelineRow::freedBy, second, first);
}

void PipelineRows::build(const PipelineModel &model,
                         const SplitBackwards *split) {
  rows.clear();
  numbers.clear();
  sharedParts.clear();
  edges.clear();
  scale = TickScale::of(model);
  findDepths(model);
  addStages(model, split);
  addCopies(model);
  addChannels(model);
  link();
  ties.clear();
  for (const PipelineTie &tie : model.ties)
    ties.push_back(scale.ticks(tie.seconds));
}

size_t PipelineRows::find(BlockKind kind, size_t stage) const {
  for (size_t row = forwardOf[stage]; row < rows.size(); ++row) {
    if (rows[row].transfer || rows[row].number != stage)
      break;
    if (rows[row].kind == kind)
      return row;
  }
  return rows.size();
}

} // namespace stagewright
