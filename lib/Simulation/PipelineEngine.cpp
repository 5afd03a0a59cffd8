//===- PipelineEngine.cpp - the common part of all execution orders -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineEngine.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stagewright {

void PipelineEngine::prepare(const PipelineModel &model,
                             const SplitBackwards *split, Seconds atMost) {
  this->model = &model;
  this->split = split;
  microbatches = static_cast<uint32_t>(model.microbatches);
  rows.build(model, split);
  latest = 0;
  serial = 0;
  limit = kNever;
  // A little more than `atMost`, because conversion to ticks rounds.
  if (atMost < rows.scale.seconds(kNever / 4))
    limit = rows.scale.ticks(atMost) + (rows.scale.ticks(atMost) >> 50) + 1;
  if (recorded) {
    starts.assign(rows.size() * size_t(microbatches), 0);
    ends.assign(rows.size() * size_t(microbatches), 0);
    serials.assign(rows.size() * size_t(microbatches), 0);
  }
  staysLeft.assign(model.stages.size(), microbatches);
  stageEnds.assign(model.stages.size(), 0);
  collectivesUntil.assign(model.numProcessors, 0);
  workLeft.assign(model.numProcessors, 0);
  for (size_t number = 0; number < rows.size(); ++number) {
    const PipelineRow &row = rows[number];
    std::span<const uint32_t> lanes = rows.list(row.lanes);
    for (size_t lane = 0; !row.transfer && lane < lanes.size(); ++lane)
      workLeft[lanes[lane]] +=
          row.duration *
          static_cast<Ticks>((microbatches + lanes.size() - 1 - lane) /
                             lanes.size());
  }
}

/// Sets the tails of the stages' collectives: what runs after the last
/// backward. Collectives of stages on the same processor run one after another,
/// in the order in which the stages end, including the part that would overlap
/// the last backward.
void PipelineEngine::startTails() {
  size_t stages = stageEnds.size();
  tailStarts = tailEnds = stageEnds;
  for (size_t stage = 0; stage < stages; ++stage)
    tailEnds[stage] += rows.tails[stage];
  std::vector<Ticks> busy(model->numProcessors, 0);
  bool isShared = false;
  for (const PipelineStage &stage : model->stages)
    for (size_t processor : stage.processors)
      isShared |= busy[processor]++ > 0;
  if (!isShared)
    return;
  std::vector<size_t> order(stages);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return stageEnds[a] < stageEnds[b];
  });
  // Before its first collective a processor delays none.
  std::fill(busy.begin(), busy.end(), std::numeric_limits<Ticks>::min() / 2);
  for (size_t stage : order) {
    Ticks all = rows.overlapped[stage] + rows.tails[stage];
    if (all == 0)
      continue;
    const std::vector<size_t> &processors = model->stages[stage].processors;
    for (size_t processor : processors) {
      tailStarts[stage] = std::max(tailStarts[stage], busy[processor]);
      tailEnds[stage] = std::max(tailEnds[stage], busy[processor] + all);
    }
    for (size_t processor : processors)
      busy[processor] = tailEnds[stage];
  }
}

/// The makespan: the last end of a block, a tail or a tie. kNever if it exceeds
/// the limit.
Ticks PipelineEngine::finish() {
  Ticks makespan = latest;
  if (!model->forwardOnly) {
    startTails();
    for (size_t stage = 0; stage < tailStarts.size(); ++stage)
      makespan = std::max(makespan, tailEnds[stage]);
    for (size_t tie = 0; tie < rows.ties.size(); ++tie)
      makespan =
          std::max(makespan, stageEnds[model->ties[tie].from] + rows.ties[tie]);
  }
  return makespan <= limit ? makespan : kNever;
}

Ticks PipelineEngine::join(const PipelineEngine &other) {
  latest = std::max(latest, other.latest);
  for (size_t stage = 0; stage < stageEnds.size(); ++stage)
    stageEnds[stage] = std::max(stageEnds[stage], other.stageEnds[stage]);
  return finish();
}

/// The duration of `work` started at `start`, if it runs `slowdown` times
/// slower until `until`.
static Ticks slowed(Ticks work, Ticks start, Ticks until, double slowdown) {
  double during = static_cast<double>(until - start) / slowdown;
  if (static_cast<double>(work) <= during)
    return std::llround(static_cast<double>(work) * slowdown);
  return work + (until - start) - std::llround(during);
}

Ticks PipelineEngine::specialDurationOf(const PipelineRow &row,
                                        uint32_t microbatch, uint32_t processor,
                                        Ticks start) const {
  Ticks work = row.duration;
  if (split && row.kind == BlockKind::Recompute &&
      split->plain[row.number][microbatch])
    return 0;
  if (split && split->apart[row.number] &&
      split->fused[row.number][microbatch]) {
    if (row.kind == BlockKind::InputGradient)
      work += rows[rows.find(BlockKind::WeightGradient, row.number)].duration;
    if (row.kind == BlockKind::WeightGradient)
      return 0;
  }
  if (microbatch + 1 == microbatches)
    work += row.lastExtra;
  Ticks until = collectivesUntil[processor];
  return until > start ? slowed(work, start, until, model->collectiveSlowdown)
                       : work;
}

/// Called when a microbatch leaves the stage of `row`; after the last one the
/// tail of the stage's collective starts.
void PipelineEngine::endStay(const PipelineRow &row, Ticks end) {
  stageEnds[row.number] = std::max(stageEnds[row.number], end);
  if (--staysLeft[row.number] != 0 || model->forwardOnly)
    return;
  Ticks until = stageEnds[row.number] + rows.tails[row.number];
  for (uint32_t processor : rows.list(row.lanes))
    collectivesUntil[processor] = std::max(collectivesUntil[processor], until);
}

bool hasWindows(const PipelineModel &model) {
  return model.sharing == LinkSharing::Turns && !model.hasReturns();
}

Ticks PipelineEngine::run(const PipelineModel &model, ExecutionOrder order,
                          Seconds atMost, bool record) {
  recorded = record;
  prepare(model, nullptr, atMost);
  caps.clear();
  if (order == ExecutionOrder::Window)
    return hasWindows(model) ? runWindow() : kNever;

  if (order == ExecutionOrder::GPipe && model.hasReturns())
    order = ExecutionOrder::Greedy;

  caps.assign(model.stages.size(), std::numeric_limits<int64_t>::max());
  int64_t replicas = 0; // Of this stage and all later ones.
  for (size_t stage = caps.size(); !model.forwardOnly && stage-- > 0;) {
    auto own = static_cast<int64_t>(model.stages[stage].processors.size());
    replicas += own;
    if (order == ExecutionOrder::CapA || order == ExecutionOrder::OneFOneB)
      caps[stage] = replicas;
    if (order == ExecutionOrder::EarlyBackward)
      caps[stage] = 2 * replicas - own;
  }
  blocks.clear();
  sequences.clear();
  sequenced =
      order == ExecutionOrder::GPipe || order == ExecutionOrder::OneFOneB;
  if (order == ExecutionOrder::GPipe)
    layGPipe();
  if (order == ExecutionOrder::OneFOneB)
    layOneFOneB();
  return runEvents();
}

Ticks PipelineEngine::run(const PipelineModel &model,
                          const SplitBackwards &split,
                          const std::vector<Order> &orders) {
  recorded = true;
  prepare(model, &split, Seconds(std::numeric_limits<double>::infinity()));
  caps.assign(model.stages.size(), std::numeric_limits<int64_t>::max());
  blocks.clear();
  sequences.clear();
  sequenced = true;
  for (uint32_t rank = 0; rank < orders.size(); ++rank) {
    size_t begin = blocks.size();
    for (const Action &action : orders[rank])
      addAction(action);
    addSequence(rank, begin);
  }
  return runEvents();
}

} // namespace stagewright
