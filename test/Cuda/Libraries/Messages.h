//===- Messages.h - messages between ranks of a communicator ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_MESSAGES_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_MESSAGES_H

#include "Tensor.h"

#include <atomic>

namespace emulator {

/// One part of an exchange: what a rank sends to a peer, or receives from it.
struct Part {
  int peer;
  bool sends;
  uint64_t address;
  Place place = {};
};

struct Message {
  uint64_t address;
  int64_t bytes;
  bool sends = false;
  const Element *element = nullptr; ///< of a sum; else null
  bool gathers = false; ///< the bytes are parts of all ranks, in their order
  Place place = {};     ///< the bytes at the address
  /// If not empty, an exchange: parts of `bytes` bytes to and from every other
  /// rank.
  std::vector<Part> parts = {};
};

/// A communicator. Never freed, because threads may still read it.
struct Comm {
  static constexpr int inProgress = 7, invalidUsage = 5; ///< `ncclResult_t`

  int rank, ranks, device;
  std::string name;
  /// To the first rank; of the first, to all others.
  std::vector<int> sockets = {};
  std::atomic<int> state = inProgress; ///< of its creation
  std::atomic<bool> aborted = false;
  bool isLocal = false;  ///< all ranks are in this process, and calls block
  int grouped = 0;       ///< calls in the current group of calls
  Message exchange = {}; ///< the sends and receives in that group
  int looks = 0;         ///< queries until the last call is complete
  int64_t messages = 0;  ///< begun so far
};

/// Connects the ranks and sets the state. Blocks until all have connected.
void join(Comm *comm);
/// Executes a message, a sum, a gather or an exchange with the other ranks.
/// Blocks until it is done.
void carry(Comm *comm, const Message &message);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_MESSAGES_H
