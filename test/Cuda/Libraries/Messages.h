//===- Messages.h - what a communicator carries -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_LIBRARIES_MESSAGES_H
#define STAGEWRIGHT_TEST_CUDA_LIBRARIES_MESSAGES_H

#include "Numbers.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace emulator {

/// As long as the process: threads look at it.
struct Comm {
  static constexpr int inProgress = 7, invalidUsage = 5; ///< `ncclResult_t`

  int rank = 0, ranks = 2, device = 0;
  std::vector<int> sockets; ///< to the first rank, or from it to all
  std::string name;
  std::atomic<int> state = inProgress; ///< of making it
  std::atomic<bool> aborted = false;
  int looks = 0;        ///< until the last call is over
  int64_t messages = 0; ///< done
};

struct Message {
  uint64_t address;
  int64_t bytes;
  bool sends = false, sums = false;
  std::optional<Element> element = {}; ///< of a sum
  std::byte *content = nullptr;        ///< what the address stands for
  uint8_t *known = nullptr;            ///< and whether it is known
};

/// Joins the ranks; sets the state. Waits for them.
void join(Comm *comm);
/// Does a message with its partners, or a sum. Waits for them.
void carry(Comm *comm, const Message &message);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_LIBRARIES_MESSAGES_H
