//===- DevicePool.h - which devices stages have taken -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. Stages take one device each, from the tail. Where all
// links are equal only the classes matter, and any class may come next: a state
// counts the devices of each class that are taken. Otherwise stages take the
// devices in the order given, and a state is how many.
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
    int next; ///< The state then; a larger number.
  };
  struct State {
    int64_t stages = 0; ///< Taken.
    /// What the devices that stages may still take can do in one second, in
    /// seconds of the fastest place of each node; no less than that.
    double capacity = 0;
    std::vector<Step> steps;
  };

  /// At most `most` stages.
  DevicePool(const LoadGraph &graph, int64_t most);

  size_t size() const { return states.size(); }
  const State &operator[](int state) const { return states[state]; }
  /// The step from one state to another.
  const Step &step(int from, int to) const;

private:
  std::vector<State> states; ///< The first one: none is taken.
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DEVICEPOOL_H
