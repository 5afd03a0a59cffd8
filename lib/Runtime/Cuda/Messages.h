//===- Messages.h - a rank's messages to other processes --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communicators of a rank, and the progress of its messages. After each
// send, receive or sum the device copies a count to host memory, so that the
// error for a step that hangs can name the message.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_MESSAGES_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_MESSAGES_H

#include "Communicators.h"
#include "StreamPlan.h"

#include <atomic>

namespace stagewright::runtime::cuda {

class Messages {
public:
  /// For the only rank of `plan`. All arguments must outlive it.
  Messages(const Manifest &manifest, const RankProgram &program,
           const Plan &plan, const Device &device, ProcessGroup &group);

  void connect(const Memory &memory, const Device &device, Stream stream) {
    ways.connect(memory, device, stream);
  }
  void look() const { ways.look(); }
  void abort() const noexcept { ways.abort(); }

  void send(int64_t channel, Address from, Stream stream) const {
    ways.send(channel, from, stream);
  }
  void receive(int64_t channel, Address to, Stream stream) const {
    ways.receive(channel, to, stream);
  }
  void sum(int64_t collective, Address bucket, Stream stream) const {
    ways.sum(collective, bucket, stream);
  }
  /// Enqueues the copy of `number`, the count of sends, receives and sums done.
  void notifyHost(size_t number, Stream stream) const;

  /// Resets the count of the last step.
  void begin() { arrived().store(0); }
  /// Text on the first message or sum that is not done: "action 0B2 waits for
  /// microbatch 2 of channel 'dy' from rank 1"; empty if all are done.
  std::string next() const;

private:
  std::atomic_ref<uint32_t> arrived() const {
    return std::atomic_ref(*reinterpret_cast<uint32_t *>(host.base()));
  }

  const Manifest &manifest;
  const RankProgram &program;
  const Plan &plan;
  PinnedMemory host; ///< the count that the device copied, then all counts
  DeviceMemory numbers;
  Communicators ways;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_MESSAGES_H
