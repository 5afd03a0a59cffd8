//===- HandWritten.h - a step's kernels in a graph by hand ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The step of one GPU as one would write it by hand from the ranks' lists of
// kernels: a stream for each rank with its kernels and products one after the
// other, an event for each message, and one for each slot that becomes free
// again; captured once. The kernels, their arguments and the algorithms of the
// library are those of the compiled step, so only the executor differs. With
// `line` everything is on one stream, in an order that sends every message
// before it is received.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_BENCH_GRAPH_HANDWRITTEN_H
#define STAGEWRIGHT_BENCH_GRAPH_HANDWRITTEN_H

#include "Cuda/DeviceStep.h"
#include "Cuda/Execution.h"

#include <map>

class HandWritten {
public:
  /// `step` must outlive it, and have all its ranks on one GPU.
  HandWritten(const stagewright::runtime::cuda::DeviceStep &step, bool line);
  ~HandWritten();
  HandWritten(const HandWritten &) = delete;
  HandWritten &operator=(const HandWritten &) = delete;

  /// Enqueues a step, by a graph or call by call.
  void start(bool graph);
  /// Waits for the end of the step by polling, without sleeping.
  void wait() const;
  /// Number of nodes of its graph; 0 before the first start(true).
  size_t nodes() const { return graphNodes; }

private:
  using Message = std::pair<int64_t, int64_t>; ///< channel and microbatch
  struct Call {
    enum Kind : uint8_t { Work, Record, Wait } kind;
    size_t rank, number; ///< of the command or of the event
  };

  void order();
  bool step(size_t rank);
  size_t eventOf(std::map<Message, size_t> &events, Message message);
  stagewright::runtime::cuda::Stream streamOf(size_t rank) const {
    return streams[line ? 0 : rank].get();
  }
  void issue();
  void capture();

  const stagewright::runtime::cuda::DeviceStep &source;
  const stagewright::runtime::cuda::Device &device;
  bool line;
  std::vector<size_t> next;              ///< by rank
  std::map<Message, size_t> sent, given; ///< events
  std::map<Message, int64_t> holders;    ///< by channel and slot
  std::vector<Call> calls;
  std::vector<stagewright::runtime::cuda::StreamOwner> streams;
  std::vector<stagewright::runtime::cuda::EventOwner> events, joins, ends;
  stagewright::runtime::cuda::GraphExec executable = nullptr;
  size_t graphNodes = 0;
};

#endif // STAGEWRIGHT_BENCH_GRAPH_HANDWRITTEN_H
