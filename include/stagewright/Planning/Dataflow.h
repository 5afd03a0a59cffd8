//===- Dataflow.h - tasks with traffic, to be placed on machines -*- C++ -*-==//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Training whose time depends mainly on traffic: tasks that run once an
// iteration, edges with the bytes that tasks send each other, and machines with
// slots and a NIC. In the training of graph neural networks the tasks are
// stores, samplers, workers and parameter servers. In a Problem a chain of
// layers is cut into stages; here the tasks are given, and only their machines
// are chosen.
//
// A task runs its iterations in order, each as soon as its data have arrived;
// an edge sends in the same order. Traffic inside a machine is free. Transfers
// share the NICs in one of the ways of LinkSharing, so every placement has a
// certificate (Flows.h).
//
// Source: Luo, Bao and Wu (INFOCOM 2022): task model, placement by exploration.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DATAFLOW_H
#define STAGEWRIGHT_PLANNING_DATAFLOW_H

#include "stagewright/Planning/Search.h"
#include "stagewright/Simulation/Flows.h"
#include <array>

namespace stagewright {

/// What a task takes and a machine has: cores, GPUs and bytes of memory.
struct TaskSlots {
  double cores = 0, gpus = 0, memory = 0;

  std::array<double, 3> all() const { return {cores, gpus, memory}; }
};

struct DataflowMachine {
  std::string name;
  TaskSlots slots;
  Bandwidth out, in; ///< Of its NIC.
};

struct DataflowTask {
  std::string name;
  TaskSlots slots;
  Seconds time;                       ///< Of one iteration.
  std::optional<size_t> machine = {}; ///< The only one allowed, if stated.
};

/// Iteration k + distance of `to` waits for what iteration k of `from` sends.
struct DataflowEdge {
  size_t from = 0, to = 0; ///< from < to, unless `distance` > 0.
  Bytes bytes;             ///< In each iteration.
  int64_t distance = 0;
};

struct Dataflow {
  std::vector<DataflowMachine> machines;
  std::vector<DataflowTask> tasks; ///< In topological order.
  std::vector<DataflowEdge> edges;
  int64_t iterations = 1;

  /// Checks that numbers are in range, NICs have a bandwidth, and every task
  /// without a stated machine fits on one.
  Status check() const;
  /// Whether `task` may be on `machine`: if that is its stated one or, without
  /// one, if the task alone fits there.
  bool allows(size_t task, size_t machine) const;
};

/// The machine of each task.
using TaskPlacement = std::vector<size_t>;

/// The JSON of docs/placement.md. Tasks are sorted topologically, ties by their
/// places in the file.
Result<Dataflow> readDataflow(const std::string &text, const std::string &file);

/// Whether the tasks of each machine fit in its slots together; the error names
/// the machine and both values.
Status checkPlacement(const Dataflow &dataflow, const TaskPlacement &placement);

/// Tasks as stages, each on its own processor. Links 2 m and 2 m + 1 are the
/// NIC of machine m, out and in; the links after these are a lane for each
/// edge.
PipelineModel pipelineOf(const Dataflow &dataflow,
                         const TaskPlacement &placement, LinkSharing sharing);

/// A placement, with its simulated iterations.
struct PlacedDataflow {
  TaskPlacement machines;
  FlowCertificate certificate;
  std::vector<SearchOutcome> searches; ///< If it was searched for.
};

/// Each task, in order, goes to a machine with room: the one whose tasks
/// exchange most bytes with it; of equal machines, to the one with the fewest
/// tasks. `colocate` of docs/placement.md.
TaskPlacement colocate(const Dataflow &dataflow);
/// Each task goes to the next machine that has room, in turn.
TaskPlacement spread(const Dataflow &dataflow);

/// Certifies `placement`. Fails if it does not fit.
Result<PlacedDataflow> evaluatePlacement(const Dataflow &dataflow,
                                         const TaskPlacement &placement,
                                         LinkSharing sharing);

/// Searches the placements by each of `drivers` (Search.h), from colocate() and
/// spread(); the result is no slower than these. Deterministic, unless
/// `options` limits the seconds.
Result<PlacedDataflow>
explorePlacements(const Dataflow &dataflow, LinkSharing sharing,
                  const std::vector<std::string> &drivers,
                  const SearchOptions &options);

/// Tasks by machine, degrees and load of the NICs, the certificate, and, if
/// `explain`, all connections.
std::string placementTable(const Dataflow &dataflow,
                           const PlacedDataflow &placed, LinkSharing sharing,
                           bool explain);
/// The same as JSON; readPlacement() reads the placement.
std::string placementToJson(const Dataflow &dataflow,
                            const PlacedDataflow &placed, LinkSharing sharing);
Result<TaskPlacement> readPlacement(const Dataflow &dataflow,
                                    const std::string &text,
                                    const std::string &file);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DATAFLOW_H
