//===- IntervalCosts.h - loads and memory of [first, end) -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: everything a planner of chains asks about an interval
// of layers, in constant time after O(L * (values + L)) of preparation.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_INTERVALCOSTS_H
#define STAGEWRIGHT_PLANNING_INTERVALCOSTS_H

#include "stagewright/Planning/Plan.h"

namespace stagewright {

class IntervalCosts {
public:
  /// `problem` must pass check() and outlive the result.
  explicit IntervalCosts(const Problem &problem);

  /// F, I and W of layers [first, end) on the device of stage `stage`.
  StageTimes times(int64_t stage, int64_t first, int64_t end) const;

  /// Bytes that stage `stage` holds with layers [first, end).
  Bytes memory(int64_t stage, int64_t first, int64_t end) const;

  /// Seconds that one microbatch's values take across the cut before layer
  /// `cut`, both ways, between the devices of stages `stage - 1` and `stage`.
  Seconds transfer(int64_t stage, int64_t cut) const;

  /// What one microbatch surely takes in layers before `first`, before it comes
  /// there and after it has left, on the fastest device of each: the layers
  /// that are linked without a gap up to `first`.
  Seconds leastBefore(int64_t first) const {
    return forwardBefore[first] + backwardBefore[first];
  }

private:
  /// What an interval holds, by how often.
  struct Held {
    int64_t once = 0;          ///< Parameters, gradients, constants.
    int64_t perMicrobatch = 0; ///< Inputs and outputs of the step.
    int64_t stash = 0;         ///< Made here in F, used here in the backward.
    int64_t receivedStash = 0; ///< Received, used in the backward.
    int64_t received = 0;      ///< Received, used at once.
  };
  void sumTimes();
  void sumBefore();
  void sumCuts();
  void sumHeld();

  const Problem &problem;
  std::vector<int64_t> inFlight;    ///< By stage.
  std::vector<size_t> classOf;      ///< By stage.
  std::vector<const Link *> linkTo; ///< By stage: from the stage before.
  /// Prefix sums over layers, by device class.
  std::vector<std::vector<StageTimes>> prefix;
  std::vector<Seconds> forwardBefore, backwardBefore; ///< By layer.
  std::vector<int64_t> forwardBytes, backwardBytes;   ///< By cut.
  std::vector<std::vector<Held>> held; ///< [first][end - first - 1].
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_INTERVALCOSTS_H
