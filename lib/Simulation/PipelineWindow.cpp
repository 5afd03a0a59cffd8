//===- PipelineWindow.cpp - the window order ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineEngine.h"
#include <algorithm>

namespace stagewright {

/// Within a window: backwards, then forwards, then the backward of the deepest
/// stage, which shares its window with its forward.
static int turn(const PipelineRow &row, const PipelineRows &rows) {
  if (!row.backward)
    return 1;
  return !row.transfer && rows.depths[row.number] == rows.deepest ? 2 : 0;
}

Ticks PipelineEngine::runWindowBlock(const PipelineRow &row, BlockId block) {
  Ticks start = 0;
  for (uint32_t before : rows.list(row.before))
    start = std::max(start, ends[at({before, block.microbatch})]);
  uint32_t resource = resourceOf(row, block.microbatch);
  start = std::max(start, freeAt[resource]);
  for (uint32_t shared : rows.list(row.shared))
    start = std::max(start, freeAt[shared]);
  Ticks end = start + row.duration;
  if (!row.transfer) {
    end = start + durationOf(row, block.microbatch, resource, start);
    workLeft[resource] -= row.duration;
    if (workLeft[resource] > limit - end)
      return kNever;
    if (row.frees)
      endStay(row, end);
  }
  freeAt[resource] = end;
  for (uint32_t shared : rows.list(row.shared))
    freeAt[shared] = end;
  ends[at(block)] = end;
  if (recorded)
    starts[at(block)] = start;
  latest = std::max(latest, end);
  return end;
}

Ticks PipelineEngine::runWindow() {
  inOrder.resize(rows.size());
  int64_t last = 0;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    inOrder[row] = row;
    last = std::max(last, rows[row].window);
  }
  // Rows are added stage by stage, then channel by channel, so their own order
  // is that of the numbers.
  std::sort(inOrder.begin(), inOrder.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(turn(rows[a], rows), a) <
           std::pair(turn(rows[b], rows), b);
  });
  ends.resize(rows.size() * size_t(microbatches));
  freeAt.assign(model->numProcessors + model->numLinks, 0);
  last += microbatches - 1;
  for (int64_t window = 0; window <= last; ++window)
    for (uint32_t number : inOrder) {
      const PipelineRow &row = rows[number];
      int64_t microbatch = window - row.window;
      if (microbatch < 0 || microbatch >= microbatches)
        continue;
      if (runWindowBlock(row, {number, static_cast<uint32_t>(microbatch)}) ==
          kNever)
        return kNever;
    }
  return finish();
}

} // namespace stagewright
