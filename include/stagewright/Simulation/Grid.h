//===- Grid.h - a schedule drawn as text ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per rank, time to the right, a backward twice as wide as a forward:
//
//   rank 0 |F0|F1|     |B0   |F2|B1   |F3|...
//   rank 1    |F0|B0   |F1|B1   |F2|...
//
// A pair has one cell, |2F1&0B0|.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_GRID_H
#define STAGEWRIGHT_SIMULATION_GRID_H

#include "stagewright/Scheduling/Timing.h"

namespace stagewright {

/// The rows, each ended by a newline. Actions show their stage if a rank has
/// several. The shortest action is wide enough for the longest text. Only if
/// some times are not multiples of the shortest action, the whole drawing is
/// limited to `mostColumns`: an action without space for its text then shows
/// only the letter of its kind, or only its bar.
std::string drawGridToScale(const Timeline &timeline, size_t mostColumns = 200);

/// The drawing of `schedule` with equal stages (unitTimes).
Result<std::string> drawGrid(const Schedule &schedule, const StageGraph &graph);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_GRID_H
