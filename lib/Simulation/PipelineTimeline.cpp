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
#include <map>

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

/// A step in the orders of a schedule.
struct ScheduleRun {
  PipelineModel model; ///< On the ranks of the schedule.
  SplitBackwards split;
  PipelineEngine engine;
  Ticks makespan = 0;

  PipelineTimeline report() const {
    return reportOf(model, engine, &split, makespan);
  }
};

/// Checks and runs a step.
static Status runSchedule(const PipelineModel &model, const Schedule &schedule,
                          ScheduleRun &run) {
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
  run.model = onRanks(model, schedule);
  run.split = splitOf(schedule);
  run.makespan = run.engine.run(run.model, run.split, schedule.ranks);
  return {};
}

Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          const Schedule &schedule) {
  ScheduleRun run;
  if (Status status = runSchedule(model, schedule, run); !status)
    return status.error();
  return run.report();
}

//===----------------------------------------------------------------------===//
// Pipelines side by side
//===----------------------------------------------------------------------===//

/// Whether `lists` has one list for each of `pipelines`, or none.
static bool areGiven(const std::vector<std::vector<size_t>> &lists,
                     size_t pipelines) {
  return lists.empty() || lists.size() == pipelines;
}

/// Whether all pipelines use links in the same way, and no link is used by two
/// of them. The model need not be valid.
static bool areApart(const PipelineModel &model, size_t pipelines) {
  if (pipelines < 2 || model.microbatches < static_cast<int64_t>(pipelines) ||
      model.sharing != LinkSharing::Turns || model.collectiveSlowdown != 1)
    return false;
  for (const PipelineStage &stage : model.stages)
    if (stage.copying > Seconds())
      return false;
  std::vector<size_t> ownerOf(model.numLinks, pipelines), front;
  for (size_t k = 0; k < pipelines; ++k) {
    std::map<size_t, size_t> numbers; // By link, in the order of their uses.
    std::vector<size_t> uses;
    bool isOwn = true;
    auto addAll = [&](const std::vector<size_t> &links) {
      uses.push_back(links.size());
      for (size_t link : links) {
        if (link >= ownerOf.size()) { // The simulation reports it.
          isOwn = false;
          continue;
        }
        isOwn &= ownerOf[link] == pipelines || ownerOf[link] == k;
        ownerOf[link] = k;
        uses.push_back(numbers.try_emplace(link, numbers.size()).first->second);
      }
    };
    for (const PipelineChannel &channel : model.channels) {
      if (channel.distance > 0 || channel.forwardLanes.size() != pipelines ||
          channel.backwardLanes.size() != pipelines ||
          !areGiven(channel.forwardShared, pipelines) ||
          !areGiven(channel.backwardShared, pipelines))
        return false;
      addAll({channel.forwardLanes[k], channel.backwardLanes[k]});
      if (!channel.forwardShared.empty())
        addAll(channel.forwardShared[k]);
      if (!channel.backwardShared.empty())
        addAll(channel.backwardShared[k]);
    }
    if (k == 0)
      front = uses;
    if (!isOwn || uses != front)
      return false;
  }
  return true;
}

/// Pipeline `number` of several side by side.
static PipelineModel oneOf(const PipelineModel &model, size_t pipelines,
                           size_t number) {
  PipelineModel one = model;
  one.microbatches =
      microbatchesOf(static_cast<int64_t>(number),
                     static_cast<int64_t>(pipelines), model.microbatches);
  for (PipelineStage &stage : one.stages)
    stage.processors.resize(1);
  for (PipelineChannel &channel : one.channels) {
    channel.forwardLanes = {channel.forwardLanes[number]};
    channel.backwardLanes = {channel.backwardLanes[number]};
    for (auto *shared : {&channel.forwardShared, &channel.backwardShared})
      if (!shared->empty())
        *shared = {std::vector<size_t>((*shared)[number])};
  }
  return one;
}

static Seconds busiestOf(const PipelineTimeline &timeline) {
  Seconds most;
  for (Seconds work : timeline.compute)
    most = std::max(most, work);
  return most;
}

Result<StepTime> stepTimeOf(const PipelineModel &model,
                            const Schedule &schedule,
                            const ReplicaRanks &ranks) {
  auto simulateAll = [&]() -> Result<StepTime> {
    Result<PipelineTimeline> timeline = simulatePipeline(model, schedule);
    if (!timeline)
      return timeline.error();
    return StepTime{timeline->makespan, busiestOf(*timeline)};
  };
  auto pipelines = static_cast<size_t>(pipelinesOf(ranks));
  if (!areReplicas(ranks) || !areApart(model, pipelines))
    return simulateAll();
  // The first pipelines have a microbatch more, unless all have equally many.
  auto more = static_cast<size_t>(model.microbatches) % pipelines;
  std::vector<size_t> numbers = {0};
  if (more > 0)
    numbers.push_back(more);
  std::vector<ScheduleRun> runs(numbers.size());
  StepTime time;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (Status status = runSchedule(
            oneOf(model, pipelines, numbers[i]),
            oneOf(schedule, ranks, static_cast<int64_t>(numbers[i])), runs[i]);
        !status)
      return status.error();
    time.busiest = std::max(time.busiest, busiestOf(runs[i].report()));
  }
  // Times of two scales cannot be joined.
  if (runs.size() > 1 && runs[0].engine.rows.scale != runs[1].engine.rows.scale)
    return simulateAll();
  Ticks makespan =
      runs.size() == 1 ? runs[0].makespan : runs[0].engine.join(runs[1].engine);
  time.makespan = runs[0].engine.rows.scale.seconds(makespan);
  return time;
}

} // namespace stagewright
