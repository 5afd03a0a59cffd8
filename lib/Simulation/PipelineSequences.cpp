//===- PipelineSequences.cpp - orders of blocks made in advance -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineEngine.h"
#include <algorithm>

namespace stagewright {

void PipelineEngine::addSequence(uint32_t processor, size_t begin) {
  if (begin != blocks.size())
    sequences.push_back({processor, begin, blocks.size()});
}

/// For every processor: all forwards stage by stage, then all backwards in the
/// reverse order of stages.
void PipelineEngine::layGPipe() {
  std::vector<std::vector<uint32_t>> rowsOf(model->numProcessors);
  for (uint32_t row = 0; row < rows.size() && !rows[row].transfer; ++row)
    for (uint32_t processor : rows.list(rows[row].lanes))
      rowsOf[processor].push_back(row);
  for (uint32_t processor = 0; processor < rowsOf.size(); ++processor) {
    size_t begin = blocks.size();
    auto add = [&](uint32_t row) {
      std::span<const uint32_t> lanes = rows.list(rows[row].lanes);
      auto lane = static_cast<uint32_t>(
          std::find(lanes.begin(), lanes.end(), processor) - lanes.begin());
      for (uint32_t m = lane; m < microbatches;
           m += static_cast<uint32_t>(lanes.size()))
        blocks.push_back({row, m});
    };
    const std::vector<uint32_t> &own = rowsOf[processor];
    for (auto row = own.begin(); row != own.end(); ++row)
      if (!rows[*row].backward)
        add(*row);
    for (auto row = own.rbegin(); row != own.rend(); ++row)
      if (rows[*row].backward)
        add(*row);
    addSequence(processor, begin);
  }
}

/// For every stage: `cap` forwards, then one backward and one forward in turn.
/// Each of its processors runs its own microbatches in that order.
void PipelineEngine::layOneFOneB() {
  for (size_t stage = 0; stage < model->stages.size(); ++stage) {
    auto forward = static_cast<uint32_t>(rows.find(BlockKind::Forward, stage));
    std::span<const uint32_t> lanes = rows.list(rows[forward].lanes);
    auto warmUp = static_cast<uint32_t>(
        std::min(caps[stage], static_cast<int64_t>(microbatches)));
    auto step = static_cast<uint32_t>(lanes.size());
    for (uint32_t lane = 0; lane < step; ++lane) {
      size_t begin = blocks.size();
      for (uint32_t m = lane; m < warmUp; m += step)
        blocks.push_back({forward, m});
      for (uint32_t m = 0; !model->forwardOnly && m < microbatches; ++m) {
        if (m % step == lane)
          blocks.push_back({forward + 1, m});
        if (m + warmUp < microbatches && (m + warmUp) % step == lane)
          blocks.push_back({forward, m + warmUp});
      }
      addSequence(lanes[lane], begin);
    }
  }
}

/// Adds the blocks of `action`, including a recompute block of duration 0 if
/// its row needs one.
void PipelineEngine::addAction(const Action &action) {
  size_t stage = action.stage;
  auto add = [&](BlockKind kind) {
    blocks.push_back({static_cast<uint32_t>(rows.find(kind, stage)),
                      static_cast<uint32_t>(action.microbatch)});
  };
  bool first = action.kind == ActionKind::Backward ||
               action.kind == ActionKind::InputGradient;
  if (first && split->recompute[stage] &&
      split->plain[stage][action.microbatch])
    add(BlockKind::Recompute);
  switch (action.kind) {
  case ActionKind::Forward:
    return add(BlockKind::Forward);
  case ActionKind::Recompute:
    return add(BlockKind::Recompute);
  case ActionKind::InputGradient:
    return add(BlockKind::InputGradient);
  case ActionKind::WeightGradient:
    return add(BlockKind::WeightGradient);
  case ActionKind::Backward:
    if (!split->apart[stage])
      return add(BlockKind::Backward);
    add(BlockKind::InputGradient);
    return add(BlockKind::WeightGradient);
  case ActionKind::Update:
    return; // Takes no time.
  }
}

} // namespace stagewright
