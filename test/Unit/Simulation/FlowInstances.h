//===- FlowInstances.h - tasks and flows on machines ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random instances of sampled training (docs/placement.md): stores, samplers
// of workers, workers and a parameter server on machines with NICs; and a slow
// simulator of them that shares no code with ours. It advances from event to
// event, with times in seconds, and looks at every task and flow each time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SIMULATION_FLOWINSTANCES_H
#define STAGEWRIGHT_TEST_UNIT_SIMULATION_FLOWINSTANCES_H

#include "../Random.h"
#include "stagewright/Simulation/Pipeline.h"

namespace stagewright::testing {

struct FlowInstance {
  struct Task {
    size_t machine;
    double time;
  };
  /// Iteration k + distance of `to` waits for iteration k of `from`.
  struct Edge {
    size_t from, to;
    double bytes;
    int64_t distance = 0;
  };
  std::vector<double> out, in; ///< By machine: bytes per second.
  std::vector<Task> tasks;
  std::vector<Edge> edges;
  int64_t iterations = 1;

  bool crosses(const Edge &edge) const {
    return tasks[edge.from].machine != tasks[edge.to].machine;
  }
  double alone(const Edge &edge) const {
    return crosses(edge) ? edge.bytes / std::min(out[tasks[edge.from].machine],
                                                 in[tasks[edge.to].machine])
                         : 0;
  }
};

FlowInstance randomFlows(Draw &draw);

/// Links: NIC of machine m out 2 m, in 2 m + 1; then a lane for each edge.
PipelineModel modelOf(const FlowInstance &instance, LinkSharing sharing);

/// The makespan in the slow simulator.
double referenceMakespan(const FlowInstance &instance, LinkSharing sharing);

/// The longest path of the unrolled graph, each flow alone on its NICs.
double referencePath(const FlowInstance &instance);

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_SIMULATION_FLOWINSTANCES_H
