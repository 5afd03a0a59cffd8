//===- HostCopies.h - events of copies to and from the host -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stashes of a rank leave for its host on one stream and come back on another,
// beside its computing. What orders them, m being a microbatch:
//
//   offload(m)   after  what was computed before it, and the fetch of what had
//                       the host's slot before
//   acquire      after  the offload of what had the device's slot before
//   fetch(m)     after  what was computed before it, which has read what had
//                       the device's slot before, and offload(m)
//   fetched(m)   after  fetch(m)
//
// An event that a later copy has recorded anew orders more than it must, and
// nothing that comes later.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_HOSTCOPIES_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_HOSTCOPIES_H

#include <cstddef>
#include <cstdint>
#include <map>

namespace stagewright::runtime::cuda {

/// The copies of one rank; events are numbers, size_t(-1) for none.
struct HostCopies {
  using Slot = std::pair<int64_t, int64_t>; ///< buffer and number
  using Events = std::map<Slot, size_t>;

  int32_t leaving = -1, coming = -1; ///< streams
  size_t computed = size_t(-1);      ///< what was computed before a copy
  Events left, came;                 ///< by the host's, the device's slot
  /// The same by the slots that they made free: the device's, the host's.
  Events vacated, emptied;

  /// One copy.
  struct Copy {
    int32_t stream;
    size_t after;  ///< which it waits for, beside what was computed
    size_t &done;  ///< which it records
    size_t &frees; ///< of the slot that it made free; becomes `done`
  };
  Copy offload(Slot device, Slot host) {
    return {leaving, find(emptied, host), event(left, host),
            event(vacated, device)};
  }
  Copy fetch(Slot device, Slot host) {
    return {coming, find(left, host), event(came, device),
            event(emptied, host)};
  }

  static size_t find(const Events &events, Slot slot) {
    auto found = events.find(slot);
    return found == events.end() ? size_t(-1) : found->second;
  }

private:
  static size_t &event(Events &events, Slot slot) {
    return events.try_emplace(slot, size_t(-1)).first->second;
  }
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_HOSTCOPIES_H
