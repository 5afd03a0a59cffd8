//===- DevicePool.h - which devices stages have taken -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. Each stage takes one device, the last stage first. If
// all links are equal, only the places (LoadGraph.h) of devices matter, and a
// device of any place may come next: a state counts the devices taken of each
// place. Otherwise, and if that gives too many states, stages take devices in
// the given order, from its end, and a state is the number of devices taken.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DEVICEPOOL_H
#define STAGEWRIGHT_PLANNING_DEVICEPOOL_H

#include "MaxLoad/LoadGraph.h"

namespace stagewright {

class DevicePool {
public:
  /// The next stage (towards the front) takes the device at `position`.
  struct Step {
    size_t position, place;
    int next; ///< Number of the state after it, which is larger.
  };
  struct State {
    int64_t stages = 0; ///< That have a device.
    /// Upper bound on the work that the devices of the stages still to come do
    /// in one second, in seconds of the nodes on their fastest places.
    double capacity = 0;
    std::vector<Step> steps;
  };

  /// For at most `most` stages.
  DevicePool(const LoadGraph &graph, int64_t most);

  size_t size() const { return states.size(); }
  const State &operator[](int state) const { return states[state]; }
  /// The step from one state to another.
  const Step &step(int from, int to) const;

private:
  std::vector<State> states; ///< In the first no device is taken.
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DEVICEPOOL_H
