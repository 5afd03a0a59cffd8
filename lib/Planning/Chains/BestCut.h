//===- BestCut.h - the best cut of a chain by dynamic programming -*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: a chain of layers cut into a number of stages so that
// the maximum, or the sum, of what stages cost is least.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BESTCUT_H
#define STAGEWRIGHT_PLANNING_BESTCUT_H

#include <cstdint>
#include <functional>
#include <vector>

namespace stagewright {

/// Cost of stage `s` with layers [first, end), together with its cut before
/// `first`; infinite where it is not allowed.
using StageCost = std::function<double(int64_t s, int64_t first, int64_t end)>;

/// The ends of the stages of a best cut, or none if every cut is infinite.
/// `join` combines the cost of the stages so far with that of the next one:
/// maximum or sum. Of equal cuts the one with the earliest last cuts.
/// Time O(stages * layers^2).
std::vector<int64_t> bestCut(int64_t layers, int64_t stages,
                             const StageCost &cost,
                             const std::function<double(double, double)> &join,
                             double &best);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BESTCUT_H
