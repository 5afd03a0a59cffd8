//===- PipelineWindow.cpp - the window order ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineEngine.h"
#include <algorithm>

namespace stagewright {

size_t windowWidth(const PipelineModel &model) {
  size_t width = model.stages.front().processors.size();
  for (const PipelineStage &stage : model.stages)
    width = std::min(width, stage.processors.size());
  return width;
}

/// Order within a window: backwards, then forwards, then the backward of the
/// deepest stage, which is in the window of its own forward.
static int turn(const PipelineRow &row, const PipelineRows &rows) {
  if (!row.backward)
    return 1;
  return !row.transfer && rows.depths[row.number] == rows.deepest ? 2 : 0;
}

/// Sorts the rows by turn. Rows of equal turn keep the order in which
/// PipelineRows::build added them: stages, copies, channels.
void PipelineEngine::layTurns() {
  std::vector<uint32_t> &sorted = byStart;
  sorted.resize(rows.size());
  for (uint32_t row = 0; row < rows.size(); ++row)
    sorted[row] = row;
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(turn(rows[a], rows), a) <
           std::pair(turn(rows[b], rows), b);
  });
  turns.clear();
  for (uint32_t row : sorted)
    turns.push_back({&rows[row], rows.list(rows[row].before),
                     rows.list(rows[row].lanes), row * size_t(microbatches)});
  for (uint32_t number = 0; number < turns.size(); ++number)
    byStart[number] = number;
  std::sort(byStart.begin(), byStart.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(turns[a].row->window, a) <
           std::pair(turns[b].row->window, b);
  });
}

/// Computes the times of a block from those of all blocks before it; false if
/// the run is certain to exceed the limit.
inline bool PipelineEngine::runTurn(const Turn &turn, uint32_t microbatch) {
  Ticks start = 0;
  for (uint32_t before : turn.before)
    start = std::max(start, ends[before * size_t(microbatches) + microbatch]);
  for (uint32_t by : rows.list(turn.row->freedBy))
    if (uint32_t slots = rows[by].madeSlots; microbatch >= slots)
      start =
          std::max(start, ends[by * size_t(microbatches) + microbatch - slots]);
  uint32_t resource =
      turn.lanes[turn.lanes.size() == 1 ? 0 : microbatch % turn.lanes.size()];
  start = std::max(start, freeAt[resource]);
  std::span<const uint32_t> links = sharedOf(*turn.row, microbatch);
  for (uint32_t link : links)
    start = std::max(start, freeAt[link]);
  Ticks end = start + turn.row->duration;
  if (!turn.row->transfer) {
    end = start + durationOf(*turn.row, microbatch, resource, start);
    workLeft[resource] -= turn.row->duration;
    if (workLeft[resource] > limit - end)
      return false;
    if (turn.row->frees)
      endStay(*turn.row, end);
  }
  for (uint32_t link : links)
    freeAt[link] = end - turn.row->latency;
  freeAt[resource] = end;
  ends[turn.begin + microbatch] = end;
  if (recorded)
    record(turn.begin + microbatch, start, end);
  latest = std::max(latest, end);
  return true;
}

Ticks PipelineEngine::runWindow() {
  layTurns();
  ends.resize(rows.size() * size_t(microbatches));
  freeAt.assign(model->numProcessors + model->numLinks, 0);
  // The rows that have a block in the current window, sorted by turn.
  active.clear();
  size_t started = 0, ended = 0;
  // In a window the replicas run one microbatch each, in parallel.
  auto together = static_cast<uint32_t>(windowWidth(*model));
  int64_t count = (microbatches + together - 1) / together;
  for (int64_t window = 0; ended < byStart.size(); ++window) {
    auto place = [&](uint32_t number) {
      return std::lower_bound(active.begin(), active.end(), number);
    };
    auto startOf = [&](size_t number) {
      return turns[byStart[number]].row->window;
    };
    for (; started < byStart.size() && startOf(started) == window; ++started)
      active.insert(place(byStart[started]), byStart[started]);
    for (; ended < started && startOf(ended) + count == window; ++ended)
      active.erase(place(byStart[ended]));
    for (uint32_t number : active) {
      const Turn &turn = turns[number];
      auto first = static_cast<uint32_t>(window - turn.row->window) * together;
      uint32_t end = std::min(first + together, microbatches);
      for (uint32_t m = first; m < end; ++m)
        if (!runTurn(turn, m))
          return kNever;
    }
  }
  return finish();
}

} // namespace stagewright
