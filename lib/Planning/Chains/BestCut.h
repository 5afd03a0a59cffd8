//===- BestCut.h - best cut of a chain by dynamic programming ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: cuts a chain of layers into a given number of stages
// such that the max, or the sum, of the costs of the stages is least.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BESTCUT_H
#define STAGEWRIGHT_PLANNING_BESTCUT_H

#include <cstdint>
#include <functional>
#include <vector>

namespace stagewright {

/// Cost of stage `s` with layers [first, end), including that of the transfer
/// into `first` if it counts; infinite if the stage is not allowed.
using StageCost = std::function<double(int64_t s, int64_t first, int64_t end)>;

/// The ends of the stages of a best cut, and its cost in `best`; no ends if
/// every cut has infinite cost. `join` combines the cost of the stages so far
/// with that of the next one: max or sum. Ties go to the cut whose last stages
/// begin earliest. Time O(stages * layers^2).
std::vector<int64_t> bestCut(int64_t layers, int64_t stages,
                             const StageCost &cost,
                             const std::function<double(double, double)> &join,
                             double &best);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BESTCUT_H
