//===- HostCopies.h - events of copies to and from the host -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stashes of a rank are copied to its host on one stream and back on another,
// while it computes. Copies of microbatch m wait for other work as follows:
//
//   offload(m)   after  what was computed before it, and the fetch of what had
//                       the host's slot before
//   acquire      after  the offload of what had the device's slot before
//   fetch(m)     after  what was computed before it, which has read what had
//                       the device's slot before, and offload(m)
//   fetched(m)   after  fetch(m)
//
// Events are reused. If a later copy has recorded an event again, a command
// that waits for it waits for more than it needs, but only for copies that were
// issued before that command.
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
  /// `left`: ends of offloads, by slot on the host; `came`: ends of fetches, by
  /// slot on the device.
  Events left, came;
  /// The same events by the slots that the copies free: `vacated` by slot on
  /// the device, `emptied` by slot on the host.
  Events vacated, emptied;

  /// One copy.
  struct Copy {
    int32_t stream;
    size_t after;  ///< event it waits for, besides `computed`
    size_t &done;  ///< event it records
    size_t &frees; ///< event of the slot it frees; becomes `done`
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
