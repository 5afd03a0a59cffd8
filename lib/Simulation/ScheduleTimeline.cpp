//===- ScheduleTimeline.cpp - a timed schedule as a timeline --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/ScheduleTimeline.h"
#include "ScheduleWalk.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace stagewright {

namespace {

class Builder {
public:
  Builder(const Schedule &schedule, const ScheduleProblem &problem,
          const Timeline &timing)
      : schedule(schedule), problem(problem), timing(timing),
        walk(schedule, problem, timing) {}
  TimedPipeline build();

private:
  void addStages();
  void addProcessors();
  void addChannels();
  void addSends(size_t stage, bool back, std::vector<PipelineBlock> &blocks);

  const Schedule &schedule;
  const ScheduleProblem &problem;
  const Timeline &timing;
  ScheduleWalk walk;
  std::vector<size_t> channelAfter; ///< By stage; number of stages: none.
  TimedPipeline pipeline;
};

} // namespace

void Builder::addStages() {
  for (const StageCosts &costs : problem.stages) {
    PipelineStage &stage = pipeline.model.stages.emplace_back();
    stage.times = costs.times();
  }
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action &action : schedule.ranks[rank]) {
      auto &ranks = pipeline.model.stages[action.stage].processors;
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
        ranks.push_back(rank);
    }
  pipeline.model.numProcessors = schedule.ranks.size();
  pipeline.model.microbatches = schedule.microbatches;
  pipeline.model.forwardOnly = problem.forwardOnly;
}

void Builder::addProcessors() {
  PipelineTimeline &timeline = pipeline.timeline;
  timeline.makespan = timing.makespan;
  timeline.span = timing.span;
  timeline.compute = timing.work;
  for (Seconds work : timing.work)
    timeline.bubbles.push_back(timing.makespan - work);
  timeline.peakInFlight = stashedMicrobatches(schedule);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::vector<PipelineBlock> &blocks = timeline.processors.emplace_back();
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i)
      if (schedule.ranks[rank][i].kind != ActionKind::Update)
        blocks.push_back(walk.blockAt({rank, i}));
  }
}

/// Adds the sends from `stage` to the next stage or, if `back`, in reverse.
void Builder::addSends(size_t stage, bool back,
                       std::vector<PipelineBlock> &blocks) {
  size_t from = back ? stage + 1 : stage, to = back ? stage : stage + 1;
  for (int64_t m = 0; m < schedule.microbatches; ++m) {
    const ScheduleWalk::Place &place = walk.made(back, from, m);
    if (place.rank == walk.made(back, to, m).rank)
      continue;
    Seconds end = timing.ranks[place.rank][place.index].end;
    blocks.push_back({back ? BlockKind::SendBackward : BlockKind::SendForward,
                      pipeline.model.channels.size(), m, end,
                      end + problem.hops[stage]});
  }
}

/// The min number of lanes such that no two microbatches overlap if microbatch
/// m is in lane m mod lanes.
static size_t lanesFor(std::vector<PipelineBlock> blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [](const PipelineBlock &a, const PipelineBlock &b) {
              return a.start < b.start;
            });
  for (size_t lanes = 1; lanes < blocks.size(); ++lanes) {
    std::vector<Seconds> ends(lanes);
    bool apart = std::all_of(
        blocks.begin(), blocks.end(), [&](const PipelineBlock &block) {
          Seconds &end = ends[size_t(block.microbatch) % lanes];
          return block.start >= std::exchange(end, block.end);
        });
    if (apart)
      return lanes;
  }
  return std::max<size_t>(blocks.size(), 1);
}

void Builder::addChannels() {
  channelAfter.assign(problem.stages.size(), problem.stages.size());
  for (size_t stage = 0; stage + 1 < problem.stages.size(); ++stage) {
    std::vector<PipelineBlock> there, back;
    addSends(stage, /*back=*/false, there);
    if (!problem.forwardOnly)
      addSends(stage, /*back=*/true, back);
    if (there.empty() && back.empty())
      continue;
    PipelineChannel channel;
    channel.from = stage;
    channel.to = stage + 1;
    channel.forward = channel.backward = problem.hops[stage];
    channel.hasBackward = !problem.forwardOnly;
    channel.forwardLanes.resize(lanesFor(there));
    channel.backwardLanes.resize(lanesFor(back));
    size_t &links = pipeline.model.numLinks;
    for (auto *lanes : {&channel.forwardLanes, &channel.backwardLanes}) {
      std::iota(lanes->begin(), lanes->end(), links);
      links += lanes->size();
    }
    channelAfter[stage] = pipeline.model.channels.size();
    pipeline.model.channels.push_back(std::move(channel));
    std::vector<PipelineBlock> &all = pipeline.timeline.channels.emplace_back();
    all = std::move(there);
    all.insert(all.end(), back.begin(), back.end());
    std::sort(all.begin(), all.end(),
              [](const PipelineBlock &a, const PipelineBlock &b) {
                return std::tuple(a.start, a.kind, a.microbatch) <
                       std::tuple(b.start, b.kind, b.microbatch);
              });
  }
}

TimedPipeline Builder::build() {
  addStages();
  addProcessors();
  addChannels();
  pipeline.timeline.criticalPath = walk.criticalPath(channelAfter);
  return std::move(pipeline);
}

TimedPipeline timedPipelineOf(const Schedule &schedule,
                              const ScheduleProblem &problem,
                              const Timeline &timing) {
  return Builder(schedule, problem, timing).build();
}

} // namespace stagewright
