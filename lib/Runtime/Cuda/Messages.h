//===- Messages.h - a rank's messages to other processes --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The communicators of a rank and how far its messages have come. The device
// tells that itself: after each half of a message it copies a number to memory
// of the host, so that a step that hangs can say in what.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_MESSAGES_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_MESSAGES_H

#include "Communicators.h"
#include "Plan.h"

#include <atomic>

namespace stagewright::runtime::cuda {

class Messages {
public:
  /// Of the only rank of `plan`; what is given must outlive it.
  Messages(const Manifest &manifest, const RankProgram &program,
           const Plan &plan, const Device &device, Assembly &assembly);

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
  /// Enqueues that `number` halves of messages are done.
  void tell(size_t number, Stream stream) const;

  /// Forgets what the last step told.
  void begin() { told().store(0); }
  /// What is next: "action 0B2 waits for microbatch 2 of channel 'dy' from rank
  /// 1".
  std::string next() const;

private:
  std::atomic_ref<uint32_t> told() const {
    return std::atomic_ref(*reinterpret_cast<uint32_t *>(host.base()));
  }

  const Manifest &manifest;
  const RankProgram &program;
  const Plan &plan;
  PinnedMemory host; ///< the number that the device told, then all numbers
  DeviceMemory numbers;
  Communicators ways;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_MESSAGES_H
