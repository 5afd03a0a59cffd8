//===- Seeds.cpp - simple placements --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dataflow.h"
#include <algorithm>
#include <tuple>

namespace stagewright {

namespace {
/// What is left of the capacity (`slots`) of each machine.
class Room {
public:
  explicit Room(const Dataflow &dataflow)
      : dataflow(dataflow), tasksOn(dataflow.machines.size(), 0) {
    for (const DataflowMachine &machine : dataflow.machines)
      left.push_back(machine.slots.all());
  }

  bool has(size_t task, size_t machine) const {
    auto needs = dataflow.tasks[task].slots.all();
    return dataflow.allows(task, machine) &&
           std::equal(needs.begin(), needs.end(), left[machine].begin(),
                      std::less_equal<>());
  }
  void take(size_t task, size_t machine) {
    auto needs = dataflow.tasks[task].slots.all();
    for (size_t i = 0; i < needs.size(); ++i)
      left[machine][i] -= needs[i];
    ++tasksOn[machine];
  }
  size_t tasks(size_t machine) const { return tasksOn[machine]; }

private:
  const Dataflow &dataflow;
  std::vector<std::array<double, 3>> left;
  std::vector<size_t> tasksOn;
};
} // namespace

/// Places the tasks in order, those with a stated machine first. Among the
/// allowed machines with room, each task goes to the one with the least `rank`.
/// If none has room, it goes to an allowed one without, and the placement does
/// not fit.
template <typename Rank>
static TaskPlacement placeInOrder(const Dataflow &dataflow, Rank rank) {
  Room room(dataflow);
  TaskPlacement placement(dataflow.tasks.size(), dataflow.machines.size());
  auto place = [&](size_t task) {
    size_t best = dataflow.machines.size();
    auto value = [&](size_t machine) {
      return std::tuple(!dataflow.allows(task, machine),
                        !room.has(task, machine),
                        rank(task, machine, placement, room));
    };
    for (size_t machine = 0; machine < dataflow.machines.size(); ++machine)
      if (best == dataflow.machines.size() || value(machine) < value(best))
        best = machine;
    placement[task] = best;
    room.take(task, best);
  };
  for (bool pinned : {true, false})
    for (size_t task = 0; task < dataflow.tasks.size(); ++task)
      if (dataflow.tasks[task].machine.has_value() == pinned)
        place(task);
  return placement;
}

TaskPlacement colocate(const Dataflow &dataflow) {
  return placeInOrder(dataflow, [&](size_t task, size_t machine,
                                    const TaskPlacement &placement,
                                    const Room &room) {
    int64_t near = 0;
    for (const DataflowEdge &edge : dataflow.edges)
      for (auto [own, other] :
           {std::pair(edge.from, edge.to), std::pair(edge.to, edge.from)})
        if (own == task && placement[other] == machine)
          near += edge.bytes.value;
    return std::tuple(-near, room.tasks(machine));
  });
}

TaskPlacement spread(const Dataflow &dataflow) {
  size_t next = 0, count = dataflow.machines.size();
  return placeInOrder(dataflow, [&](size_t task, size_t machine,
                                    const TaskPlacement &placement,
                                    const Room &) {
    next = size_t(std::count_if(placement.begin(), placement.end(),
                                [&](size_t on) { return on < count; }));
    return (machine + count - next % count) % count;
  });
}

} // namespace stagewright
