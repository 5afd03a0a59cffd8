//===- PipelineReport.cpp - the timeline of a recorded run ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineReport.h"
#include "BlockLook.h"
#include "CriticalPath.h"
#include <algorithm>

namespace stagewright {

double PipelineTimeline::bubbleShare() const {
  Seconds idle;
  for (Seconds bubble : bubbles)
    idle += bubble;
  double all = makespan.value * static_cast<double>(bubbles.size());
  return all > 0 ? idle.value / all : 0;
}

namespace {

/// Converts the record of an engine into a timeline.
class Report {
public:
  Report(const PipelineModel &model, const PipelineEngine &engine,
         const SplitBackwards *split)
      : model(model), engine(engine), split(split) {}

  PipelineTimeline make(Ticks makespan) {
    timeline.makespan = engine.rows.scale.seconds(makespan);
    timeline.processors.resize(model.numProcessors);
    timeline.links.resize(model.numLinks);
    timeline.channels.resize(model.channels.size());
    addBlocks();
    addCollectives();
    addSums();
    addPeaks();
    timeline.criticalPath = findCriticalPath(model, engine, makespan);
    return std::move(timeline);
  }

private:
  void addBlocks();
  void addCollectives();
  void addSums();
  void addPeaks();
  bool isShown(const PipelineRow &row, PipelineBlock &block) const;

  const PipelineModel &model;
  const PipelineEngine &engine;
  const SplitBackwards *split;
  PipelineTimeline timeline;
};

} // namespace

/// Returns false for a block that the schedule does not have. If `block` runs I
/// and W as one, sets its kind to Backward.
bool Report::isShown(const PipelineRow &row, PipelineBlock &block) const {
  if (!split || row.transfer)
    return true;
  if (row.kind == BlockKind::Recompute)
    return !split->plain[row.number][block.microbatch];
  if (!split->apart[row.number] || !split->fused[row.number][block.microbatch])
    return true;
  if (row.kind == BlockKind::InputGradient)
    block.kind = BlockKind::Backward;
  return row.kind != BlockKind::WeightGradient;
}

void Report::addBlocks() {
  // By start time, then by the order in which they were started.
  std::vector<uint32_t> order(engine.serials.size());
  for (uint32_t at = 0; at < order.size(); ++at)
    order[at] = at;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(engine.starts[a], engine.serials[a]) <
           std::pair(engine.starts[b], engine.serials[b]);
  });
  for (uint32_t at : order) {
    const PipelineRow &row = engine.rows[at / model.microbatches];
    PipelineBlock block = blockAt(model, engine, at);
    if (!isShown(row, block))
      continue;
    if (isTransfer(row.kind))
      timeline.channels[row.number].push_back(block);
    forEachResource(engine, at, [&](uint32_t resource) {
      if (resource < model.numProcessors)
        timeline.processors[resource].push_back(block);
      else if (Ticks end = releaseOf(engine, at, resource);
               end > engine.starts[at] || end == engine.ends[at]) {
        PipelineBlock held = block;
        held.end = engine.rows.scale.seconds(end);
        timeline.links[resource - model.numProcessors].push_back(held);
      }
    });
  }
}

void Report::addCollectives() {
  if (model.forwardOnly)
    return;
  const TickScale &scale = engine.rows.scale;
  auto add = [&](BlockKind kind, size_t number, size_t, Ticks start,
                 Ticks length) {
    if (length > 0)
      timeline.collectives.push_back({kind, number, 0, scale.seconds(start),
                                      scale.seconds(start + length)});
  };
  forEachCollective(model, engine, add);
}

void Report::addSums() {
  std::vector<Seconds> ends(model.numProcessors);
  for (const PipelineBlock &block : timeline.collectives)
    if (block.kind == BlockKind::AllReduce)
      for (size_t processor : model.stages[block.number].processors)
        ends[processor] = std::max(ends[processor], block.end);
  for (size_t processor = 0; processor < model.numProcessors; ++processor) {
    Seconds compute;
    for (const PipelineBlock &block : timeline.processors[processor]) {
      compute += block.end - block.start;
      ends[processor] = std::max(ends[processor], block.end);
    }
    timeline.compute.push_back(compute);
    timeline.bubbles.push_back(
        std::max(Seconds(), timeline.makespan - compute));
    if (!timeline.processors[processor].empty())
      timeline.span = std::max(
          timeline.span,
          ends[processor] - timeline.processors[processor].front().start);
  }
}

void Report::addPeaks() {
  timeline.peakInFlight.assign(model.stages.size(), 0);
  if (model.forwardOnly)
    return;
  // At the same time, ends come before starts.
  std::vector<std::vector<std::pair<Ticks, int>>> changes(model.stages.size());
  for (size_t row = 0; row < engine.rows.size(); ++row)
    for (int64_t m = 0; m < model.microbatches; ++m) {
      size_t at = row * model.microbatches + m;
      if (engine.rows[row].kind == BlockKind::Forward)
        changes[engine.rows[row].number].emplace_back(engine.starts[at], 1);
      else if (engine.rows[row].frees)
        changes[engine.rows[row].number].emplace_back(engine.ends[at], -1);
    }
  for (size_t stage = 0; stage < changes.size(); ++stage) {
    std::sort(changes[stage].begin(), changes[stage].end());
    int64_t inFlight = 0;
    for (const auto &change : changes[stage]) {
      inFlight += change.second;
      timeline.peakInFlight[stage] =
          std::max(timeline.peakInFlight[stage], inFlight);
    }
  }
}

PipelineTimeline reportOf(const PipelineModel &model,
                          const PipelineEngine &engine,
                          const SplitBackwards *split, Ticks makespan) {
  return Report(model, engine, split).make(makespan);
}

} // namespace stagewright
