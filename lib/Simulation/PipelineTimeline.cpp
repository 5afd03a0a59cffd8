//===- PipelineTimeline.cpp - timelines of orders and schedules -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/PipelineTimeline.h"
#include "PipelineReport.h"
#include "stagewright/Scheduling/Verify.h"
#include "stagewright/Support/Names.h"
#include <algorithm>

namespace stagewright {

const char *toString(WaitReason reason) {
  static constexpr Named<WaitReason> kNames[] = {
      {WaitReason::Nothing, "nothing"},
      {WaitReason::Input, "input"},
      {WaitReason::Resource, "resource"},
      {WaitReason::Cap, "cap"}};
  return nameIn(kNames, reason);
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
  case BlockKind::Backward:
  case BlockKind::InputGradient:
  case BlockKind::WeightGradient:
  case BlockKind::Recompute:
    return number + "FBIWR"[int(block.kind)] + microbatch;
  case BlockKind::SendForward:
    return hop(false) + "F" + microbatch;
  case BlockKind::SendBackward:
    return hop(true) + "B" + microbatch;
  case BlockKind::Offload:
    return number + ">hostF" + microbatch;
  case BlockKind::Fetch:
    return "host>" + number + "B" + microbatch;
  case BlockKind::AllReduce:
    return number + " all-reduce";
  case BlockKind::Tie:
    return "tie " + number;
  }
  return "";
}

Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          ExecutionOrder order) {
  if (Status status = model.check(); !status)
    return status.error();
  if (order == ExecutionOrder::Window && !hasWindows(model))
    return Error{"the order 'window' is not defined where links share rates or "
                 "a channel leads to a later microbatch; choose 1f1b or gpipe"};
  PipelineEngine engine;
  Ticks makespan =
      engine.run(model, order, Seconds(std::numeric_limits<double>::infinity()),
                 /*record=*/true);
  return reportOf(model, engine, nullptr, makespan);
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

/// The model with the processors replaced by the ranks of `schedule`, which has
/// passed verify().
static PipelineModel onRanks(const PipelineModel &model,
                             const Schedule &schedule) {
  PipelineModel placed = model;
  placed.numProcessors = schedule.ranks.size();
  for (PipelineStage &stage : placed.stages)
    stage.processors.assign(model.microbatches, 0);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action &action : schedule.ranks[rank])
      if (action.kind != ActionKind::Update)
        placed.stages[action.stage].processors[action.microbatch] = rank;
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
  PipelineModel placed = onRanks(model, schedule);
  SplitBackwards split = splitOf(schedule);
  PipelineEngine engine;
  Ticks makespan = engine.run(placed, split, schedule.ranks);
  return reportOf(placed, engine, &split, makespan);
}

} // namespace stagewright
