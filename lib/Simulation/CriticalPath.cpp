//===- CriticalPath.cpp - the critical path of a simulated step -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CriticalPath.h"
#include <algorithm>

namespace stagewright {

PipelineBlock blockAt(const PipelineModel &model, const PipelineEngine &engine,
                      size_t at) {
  const PipelineRow &row = engine.rows[at / model.microbatches];
  return {row.kind, row.number, static_cast<int64_t>(at % model.microbatches),
          engine.rows.scale.seconds(engine.starts[at]),
          engine.rows.scale.seconds(engine.ends[at])};
}

Ticks releaseOf(const PipelineEngine &engine, size_t at, uint32_t resource) {
  size_t microbatches = engine.numMicrobatches();
  const PipelineRow &row = engine.rows[at / microbatches];
  std::span<const uint32_t> lanes = engine.rows.list(row.lanes);
  bool isLane = lanes[at % microbatches % lanes.size()] == resource;
  return engine.ends[at] - (isLane ? 0 : row.latency);
}

namespace {

class Walk {
public:
  Walk(const PipelineModel &model, const PipelineEngine &engine)
      : model(model), engine(engine),
        holders(model.numProcessors + model.numLinks) {
    bySerial.resize(engine.serials.size());
    for (size_t at = 0; at < bySerial.size(); ++at)
      bySerial[engine.serials[at]] = at;
    forwards.resize(model.stages.size());
    leaves.resize(model.stages.size());
    for (size_t at : bySerial) {
      const PipelineRow &row = engine.rows[at / model.microbatches];
      if (!row.transfer && row.kind == BlockKind::Forward)
        forwards[row.number].push_back(at);
      else if (row.frees)
        leaves[row.number].push_back(at);
      forEachResource(engine, at, [&](uint32_t resource) {
        holders[resource].push_back(at);
      });
    }
    for (std::vector<size_t> &list : leaves)
      std::sort(list.begin(), list.end(), [&](size_t a, size_t b) {
        return std::pair(engine.ends[a], a) < std::pair(engine.ends[b], b);
      });
  }

  std::vector<CriticalBlock> run(Ticks makespan);

private:
  bool addCollective(Ticks makespan);
  size_t lastBlock(Ticks end, size_t stage) const;
  std::pair<size_t, WaitReason> before(size_t at) const;
  size_t holderBefore(size_t at) const;
  size_t liftedCap(size_t at) const;

  const PipelineModel &model;
  const PipelineEngine &engine;
  std::vector<size_t> bySerial;
  std::vector<std::vector<size_t>> holders; ///< By resource, in order.
  /// By stage: its forwards in the order of their starts, and the blocks that
  /// complete a microbatch on the stage, in the order of their ends.
  std::vector<std::vector<size_t>> forwards, leaves;
  std::vector<CriticalBlock> path; ///< The last block first.
  size_t last = 0;
};

} // namespace

/// The block that ended at `end` and was started last: among those that
/// complete a microbatch on `stage` or, without a stage, among all.
size_t Walk::lastBlock(Ticks end, size_t stage) const {
  for (size_t number = bySerial.size(); number-- > 0;) {
    size_t at = bySerial[number];
    const PipelineRow &row = engine.rows[at / model.microbatches];
    if (engine.ends[at] == end &&
        (stage == model.stages.size() || (row.frees && row.number == stage)))
      return at;
  }
  return bySerial.size();
}

/// Starts the path at an all-reduce or tie if one ends the step.
bool Walk::addCollective(Ticks makespan) {
  if (model.forwardOnly)
    return false;
  const TickScale &scale = engine.rows.scale;
  auto add = [&](BlockKind kind, size_t number, size_t stage, Ticks start,
                 Ticks length) {
    if (length == 0 || start + length != makespan || !path.empty())
      return;
    path.push_back(
        {{kind, number, 0, scale.seconds(start), scale.seconds(makespan)},
         WaitReason::Input});
    // Collectives of other stages on the same processor may have delayed it.
    while (kind == BlockKind::AllReduce && start != engine.stageEnds[stage]) {
      size_t earlier = 0;
      while (engine.tailEnds[earlier] == engine.tailStarts[earlier] ||
             engine.tailEnds[earlier] != start)
        ++earlier;
      path.back().waited = WaitReason::Resource;
      path.push_back(
          {{kind, earlier, 0, scale.seconds(engine.tailStarts[earlier]),
            scale.seconds(start)},
           WaitReason::Input});
      stage = earlier;
      start = engine.tailStarts[stage];
    }
    last = lastBlock(start, stage);
  };
  forEachCollective(model, engine, add);
  return !path.empty();
}

/// The last block that held a resource of block `at` before it, if it freed the
/// resource when block `at` started.
size_t Walk::holderBefore(size_t at) const {
  size_t found = bySerial.size();
  forEachResource(engine, at, [&](uint32_t resource) {
    const std::vector<size_t> &list = holders[resource];
    auto own =
        std::lower_bound(list.begin(), list.end(), at, [&](size_t a, size_t b) {
          return engine.serials[a] < engine.serials[b];
        });
    // Transfers that are all latency pass without holding a shared resource.
    while (own != list.begin()) {
      size_t other = *--own;
      Ticks release = releaseOf(engine, other, resource);
      if (release == engine.starts[at])
        found = other;
      if (release == engine.starts[at] || release != engine.starts[other])
        break;
    }
  });
  return found;
}

/// The block whose end let forward `at` start, if until then the stage had the
/// max number of microbatches in flight.
size_t Walk::liftedCap(size_t at) const {
  size_t none = bySerial.size();
  const PipelineRow &row = engine.rows[at / model.microbatches];
  if (row.transfer || row.kind != BlockKind::Forward || engine.caps.empty())
    return none;
  const std::vector<size_t> &started = forwards[row.number];
  const std::vector<size_t> &left = leaves[row.number];
  auto own = std::lower_bound(started.begin(), started.end(), at,
                              [&](size_t a, size_t b) {
                                return engine.serials[a] < engine.serials[b];
                              });
  auto leave = std::lower_bound(
      left.begin(), left.end(), engine.starts[at],
      [&](size_t a, Ticks time) { return engine.ends[a] < time; });
  auto inFlight = (own - started.begin()) - (leave - left.begin());
  while (leave != left.end() && engine.serials[*leave] > engine.serials[at])
    ++leave; // It has duration 0 and was started later.
  bool lifted = inFlight == engine.caps[row.number] && leave != left.end() &&
                engine.ends[*leave] == engine.starts[at];
  return lifted ? *leave : none;
}

/// The block whose end let block `at` start, and why it had to wait.
std::pair<size_t, WaitReason> Walk::before(size_t at) const {
  size_t microbatches = model.microbatches, none = bySerial.size();
  for (uint32_t input :
       engine.rows.list(engine.rows[at / microbatches].before)) {
    size_t other = input * microbatches + at % microbatches;
    if (engine.ends[other] == engine.starts[at])
      return {other, WaitReason::Input};
  }
  for (uint32_t by : engine.rows.list(engine.rows[at / microbatches].freedBy)) {
    uint32_t slots = engine.rows[by].madeSlots;
    size_t other = by * microbatches + at % microbatches - slots;
    if (at % microbatches >= slots && engine.ends[other] == engine.starts[at])
      return {other, engine.rows[by].kind == BlockKind::SendForward
                         ? WaitReason::Input
                         : WaitReason::Resource};
  }
  if (size_t leave = liftedCap(at); leave != none)
    return {leave, WaitReason::Cap};
  size_t holder = holderBefore(at);
  return {holder, holder == none ? WaitReason::Nothing : WaitReason::Resource};
}

std::vector<CriticalBlock> Walk::run(Ticks makespan) {
  if (!addCollective(makespan))
    last = lastBlock(makespan, model.stages.size());
  // A transfer frees its links before it ends; if the next block waited only
  // for a link, only the part of the transfer until then is critical.
  for (Ticks until = kNever; last < bySerial.size();) {
    auto [next, reason] = before(last);
    path.push_back({blockAt(model, engine, last), reason});
    if (until < engine.ends[last])
      path.back().block.end = engine.rows.scale.seconds(until);
    until = engine.starts[last];
    last = next;
  }
  std::reverse(path.begin(), path.end());
  return std::move(path);
}

std::vector<CriticalBlock> findCriticalPath(const PipelineModel &model,
                                            const PipelineEngine &engine,
                                            Ticks makespan) {
  return Walk(model, engine).run(makespan);
}

} // namespace stagewright
