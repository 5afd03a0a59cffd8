//===- IntervalCosts.h - costs of layers [first, end) -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the costs of an interval of layers for planners of
// chains, in constant time after a preparation of O(L * (values + L)) for L
// layers.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_INTERVALCOSTS_H
#define STAGEWRIGHT_PLANNING_INTERVALCOSTS_H

#include "MemoryTable.h"

namespace stagewright {

class IntervalCosts {
public:
  /// `problem` must pass check(); both must outlive this object.
  IntervalCosts(const Problem &problem, const Network &network);

  /// F, I and W of layers [first, end) on the device of stage `stage`.
  StageTimes times(int64_t stage, int64_t first, int64_t end) const;

  /// Bytes that stage `stage` holds with layers [first, end).
  Bytes memory(int64_t stage, int64_t first, int64_t end) const;

  /// Seconds that one microbatch's values take across the cut before layer
  /// `cut`, both ways, between the devices of stages `stage - 1` and `stage`.
  Seconds transfer(int64_t stage, int64_t cut) const;

private:
  void sumTimes();
  void sumCuts();

  const Problem &problem;
  const Network &network;
  std::vector<int64_t> inFlight; ///< By stage.
  std::vector<size_t> classOf;   ///< By stage.
  /// Prefix sums over layers, by device class.
  std::vector<std::vector<StageTimes>> prefix;
  std::vector<int64_t> forwardBytes, backwardBytes; ///< By cut.
  MemoryTable held;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_INTERVALCOSTS_H
