//===- Execution.h - executes a plan on GPUs --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The streams, events and calls of a plan, created before the first step. The
// first step is captured as one CUDA graph for all ranks of the process, which
// every step launches; without a graph every step enqueues all operations.
// After the capture a step allocates nothing. It never waits on the host.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_EXECUTION_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_EXECUTION_H

#include "Contraction.h"
#include "Device.h"
#include "Graphs.h"
#include "Messages.h"
#include "Nvtx.h"
#include "ProcessSums.h"
#include "StreamPlan.h"

namespace stagewright::runtime::cuda {

class Execution {
public:
  /// `devices` and `workspaces` by rank; `graphs` has the plans of all calls;
  /// `messages` are those to other processes, and `sums` those within this
  /// one; each may be null. All arguments must outlive it.
  Execution(const Manifest &manifest, const Memory &memory,
            const std::vector<RankProgram> &programs, const Plan &plan,
            const std::vector<const Device *> &devices,
            const std::vector<DevicePointer> &workspaces,
            const GraphsByDevice &graphs, const Messages *messages,
            const ProcessSums *sums);
  ~Execution();
  Execution(const Execution &) = delete;
  Execution &operator=(const Execution &) = delete;

  /// Enqueues one step; with `graph` as one graph launch.
  void start(bool graph);
  /// Makes the rank's stream wait for the step that was enqueued.
  void awaitStep(int64_t rank) const;
  /// Moves the end of the step after the work that follow() has added since.
  void extendStep() const;
  /// Whether the device has done all that was enqueued; never waits.
  bool finished() const;

  /// Enqueues what one command of a rank does on its device, on any
  /// stream.
  void work(int64_t rank, size_t command, Stream stream) const;

  /// The stream on which a rank computes.
  Stream stream(int64_t rank) const { return streams[computing[rank]].get(); }
  /// The stream of a rank's messages to other processes and of its sums; null
  /// if it has neither.
  Stream messageStream(int64_t rank) const;
  /// Makes what comes next, a step or extendStep(), wait for the work enqueued
  /// on the rank's stream.
  void follow(int64_t rank);

  /// Nanoseconds from the beginning of the last step to a stamp, by the clock
  /// of its device.
  int64_t stampTime(size_t stamp) const;
  /// Number of nodes of the CUDA graph; 0 without a graph.
  size_t graphNodes() const { return nodes; }

private:
  void prepareContractions();
  void issue(bool capturing);
  void issue(const Operation &operation, bool capturing);
  /// Whether the kernels that follow a call of a library must run.
  bool leaves(int64_t rank, size_t command) const;
  void launch(const Command &command, const RankProgram &program,
              const Device &device, Stream stream) const;
  void capture();
  const Device &deviceOf(int32_t stream) const {
    return *devices[plan.streams[stream].rank];
  }

  const Manifest &manifest;
  const Memory &memory;
  const std::vector<RankProgram> &programs;
  const Plan &plan;
  const std::vector<const Device *> &devices;
  const std::vector<DevicePointer> &workspaces;
  const GraphsByDevice &graphs;
  const Messages *messages;
  const ProcessSums *sums;
  std::vector<size_t> computing; ///< by rank: its stream for computing
  std::vector<StreamOwner> streams;
  std::vector<EventOwner> events, stamps, uploads;
  std::vector<size_t> stampStreams;
  std::vector<EventOwner> bases; ///< by stream: the step's beginning there
  std::vector<EventOwner> end;   ///< one event: the step's end
  std::map<const Device *, std::unique_ptr<Contractions>> libraries;
  std::vector<std::vector<size_t>> contractions; ///< numbers, by rank
  GraphExec executable = nullptr;
  size_t nodes = 0;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_EXECUTION_H
