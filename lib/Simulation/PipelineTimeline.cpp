//===- PipelineTimeline.cpp - who does what when --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/PipelineTimeline.h"
#include "CriticalPath.h"
#include "PipelineEngine.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>

namespace stagewright {

const char *toString(WaitReason reason) {
  switch (reason) {
  case WaitReason::Nothing:
    return "nothing";
  case WaitReason::Input:
    return "input";
  case WaitReason::Resource:
    return "resource";
  case WaitReason::Cap:
    return "cap";
  }
  return "";
}

std::string toString(const PipelineBlock &block, const PipelineModel &model) {
  std::string number = std::to_string(block.number);
  std::string microbatch = std::to_string(block.microbatch);
  auto hop = [&](bool back) {
    std::string from = std::to_string(model.channels[block.number].from);
    std::string to = std::to_string(model.channels[block.number].to);
    return back ? to + ">" + from : from + ">" + to;
  };
  switch (block.kind) {
  case BlockKind::Forward:
    return number + "F" + microbatch;
  case BlockKind::Backward:
    return number + "B" + microbatch;
  case BlockKind::InputGradient:
    return number + "I" + microbatch;
  case BlockKind::WeightGradient:
    return number + "W" + microbatch;
  case BlockKind::Recompute:
    return number + "R" + microbatch;
  case BlockKind::SendForward:
    return hop(false) + "F" + microbatch;
  case BlockKind::SendBackward:
    return hop(true) + "B" + microbatch;
  case BlockKind::AllReduce:
    return number + " all-reduce";
  case BlockKind::Tie:
    return "tie " + number;
  }
  return "";
}

double PipelineTimeline::bubbleShare() const {
  Seconds idle;
  for (Seconds bubble : bubbles)
    idle += bubble;
  double all = makespan.value * static_cast<double>(bubbles.size());
  return all > 0 ? idle.value / all : 0;
}

namespace {

/// Turns what an engine has recorded into a timeline.
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

/// False for a block that a schedule does not have; a fused one gets its name.
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
  // By the time and then by the order in which they were started.
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
    if (row.transfer)
      timeline.channels[row.number].push_back(block);
    forEachResource(engine, at, [&](uint32_t resource) {
      if (resource < model.numProcessors)
        timeline.processors[resource].push_back(block);
      else
        timeline.links[resource - model.numProcessors].push_back(block);
    });
  }
}

void Report::addCollectives() {
  if (model.forwardOnly)
    return;
  const TickScale &scale = engine.rows.scale;
  auto add = [&](BlockKind kind, size_t number, size_t stage, Ticks length) {
    Ticks start = engine.stageEnds[stage];
    if (length > 0)
      timeline.collectives.push_back({kind, number, 0, scale.seconds(start),
                                      scale.seconds(start + length)});
  };
  for (size_t stage = 0; stage < model.stages.size(); ++stage)
    add(BlockKind::AllReduce, stage, stage, engine.rows.tails[stage]);
  for (size_t tie = 0; tie < model.ties.size(); ++tie)
    add(BlockKind::Tie, tie, model.ties[tie].from, engine.rows.ties[tie]);
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
  // Ends come before starts at the same time.
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

Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          ExecutionOrder order) {
  if (Status status = model.check(); !status)
    return status.error();
  PipelineEngine engine;
  Ticks makespan =
      engine.run(model, order, Seconds(std::numeric_limits<double>::infinity()),
                 /*record=*/true);
  return Report(model, engine, nullptr).make(makespan);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

StageGraph graphOf(const PipelineModel &model) {
  StageGraph graph;
  graph.stages = static_cast<int64_t>(model.stages.size());
  graph.forwardOnly = model.forwardOnly;
  for (const PipelineChannel &channel : model.channels) {
    auto from = static_cast<int64_t>(channel.from);
    auto to = static_cast<int64_t>(channel.to);
    auto add = [&](ActionKind phase, int64_t producer, int64_t user) {
      StagePhase use{phase, user};
      graph.edges.push_back({{phase, producer}, use, use});
    };
    if (channel.hasForward)
      add(ActionKind::Forward, from, to);
    if (channel.hasBackward && !model.forwardOnly)
      add(ActionKind::InputGradient, to, from);
  }
  return graph;
}

/// The model with the ranks of `schedule` in the place of its processors.
static Result<PipelineModel> onRanks(const PipelineModel &model,
                                     const Schedule &schedule) {
  PipelineModel placed = model;
  placed.numProcessors = schedule.ranks.size();
  const size_t none = schedule.ranks.size();
  for (PipelineStage &stage : placed.stages)
    stage.processors.assign(model.microbatches, none);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action &action : schedule.ranks[rank]) {
      if (action.kind == ActionKind::Update)
        continue;
      size_t &known = placed.stages[action.stage].processors[action.microbatch];
      if (known != none && known != rank)
        return Error{"rank " + std::to_string(rank) + " runs " +
                     toString(action) + " of a microbatch that rank " +
                     std::to_string(known) +
                     " keeps; run all of it on one rank"};
      known = rank;
    }
  for (PipelineStage &stage : placed.stages)
    if (std::equal(stage.processors.begin() + 1, stage.processors.end(),
                   stage.processors.begin()))
      stage.processors.resize(1);
  return placed;
}

static SplitBackwards splitOf(const Schedule &schedule) {
  SplitBackwards split;
  size_t stages = schedule.stages;
  std::vector<bool> all(schedule.microbatches, true);
  split.apart.assign(stages, false);
  split.recompute.assign(stages, false);
  split.fused.assign(stages, all);
  split.plain.assign(stages, all);
  for (const Order &order : schedule.ranks)
    for (const Action &action : order) {
      if (action.kind == ActionKind::InputGradient) {
        split.apart[action.stage] = true;
        split.fused[action.stage][action.microbatch] = false;
      }
      if (action.kind == ActionKind::Recompute) {
        split.recompute[action.stage] = true;
        split.plain[action.stage][action.microbatch] = false;
      }
    }
  return split;
}

Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          const Schedule &schedule) {
  if (Status status = model.check(); !status)
    return status.error();
  if (schedule.stages != static_cast<int64_t>(model.stages.size()) ||
      schedule.microbatches != model.microbatches)
    return Error{"the schedule is for " + std::to_string(schedule.stages) +
                 " stages and " + std::to_string(schedule.microbatches) +
                 " microbatches, the pipeline has " +
                 std::to_string(model.stages.size()) + " and " +
                 std::to_string(model.microbatches)};
  if (Status status = verify(schedule, graphOf(model)); !status)
    return status.error();
  Result<PipelineModel> placed = onRanks(model, schedule);
  if (!placed)
    return placed.error();
  SplitBackwards split = splitOf(schedule);
  PipelineEngine engine;
  Ticks makespan = engine.run(*placed, split, schedule.ranks);
  return Report(*placed, engine, &split).make(makespan);
}

} // namespace stagewright
