//===- Execution.h - a plan on GPUs -----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The streams, events and calls of a plan. Everything they need is made here,
// before the first step: a step allocates nothing and waits for nothing on the
// host. The first one is captured as a CUDA graph, of all ranks of the process,
// and replayed from then on; without a graph every step is enqueued anew.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_EXECUTION_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_EXECUTION_H

#include "Contraction.h"
#include "Device.h"
#include "Graphs.h"
#include "Messages.h"
#include "Nvtx.h"
#include "Plan.h"

namespace stagewright::runtime::cuda {

class Execution {
public:
  /// `devices` and `workspaces` by rank; `graphs` has the plans of all calls;
  /// `messages` go to other processes, null where there are none. All that is
  /// given must outlive it.
  Execution(const Manifest &manifest, const Memory &memory,
            const std::vector<RankProgram> &programs, const Plan &plan,
            const std::vector<const Device *> &devices,
            const std::vector<DevicePointer> &workspaces,
            const GraphsByDevice &graphs, const Messages *messages);
  ~Execution();
  Execution(const Execution &) = delete;
  Execution &operator=(const Execution &) = delete;

  /// Enqueues one step; with `graph` as one launch.
  void start(bool graph);
  /// Whether the device has done all that was enqueued; never waits.
  bool finished() const;

  /// Enqueues what one command of a rank does on its device, on any
  /// stream.
  void work(int64_t rank, size_t command, Stream stream) const;

  /// The stream on which a rank computes.
  Stream stream(int64_t rank) const { return streams[computing[rank]].get(); }
  /// The stream of messages to other processes; null without.
  Stream messageStream() const;
  /// Lets the step begin after what is on the rank's stream.
  void follow(int64_t rank);

  /// Nanoseconds from the beginning of the last step to a stamp, on
  /// the clock of its device.
  int64_t stampTime(size_t stamp) const;
  /// Nodes of the graph; 0 where there is none.
  size_t graphNodes() const { return nodes; }
  /// Different shapes of contractions, and their number.
  size_t contractionShapes() const;

private:
  void prepareContractions();
  void issue(bool capturing);
  void issue(const Operation &operation, bool capturing);
  /// Whether a call of a library needs the kernels behind it.
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
  std::vector<size_t> computing; ///< streams by rank
  std::vector<StreamOwner> streams;
  std::vector<EventOwner> events, stamps, uploads;
  std::vector<size_t> stampStreams;
  std::vector<EventOwner> bases; ///< by stream: the step's beginning there
  std::vector<EventOwner> end;   ///< one: the step's end
  std::map<const Device *, std::unique_ptr<Contractions>> libraries;
  std::vector<std::vector<size_t>> contractions; ///< numbers, by rank
  GraphExec executable = nullptr;
  size_t nodes = 0;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_EXECUTION_H
