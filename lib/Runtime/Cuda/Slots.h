//===- Slots.h - checks the use of slots while recording --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tracks one rank while its entry is recorded: which stash slots and channel
// slots it holds, and for which microbatch or message. It finds errors inside a
// rank; Order.h finds those between ranks.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_SLOTS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_SLOTS_H

#include "Memory/Checker.h"

#include <map>

namespace stagewright::runtime::cuda {

class Slots {
public:
  Slots(const Manifest &manifest, const Layout &layout, int64_t rank,
        int64_t microbatches)
      : manifest(manifest), layout(layout), rank(rank),
        microbatches(microbatches), stashes(manifest.ranks[rank], layout) {}

  /// The ring of a buffer; throws if it may not be used for microbatch `m`.
  const Ring &use(int64_t buffer, int64_t m) const;
  void acquire(int64_t buffer, int64_t m);
  void release(int64_t buffer, int64_t m);

  void claim(int64_t channel, int64_t m);
  void send(int64_t channel, int64_t m);
  /// Returns whether the message was not held before.
  bool receive(int64_t channel, int64_t m);
  void giveBack(int64_t channel, int64_t m);

  /// At the end of the rank's program: throws if something is still held.
  void end() const;
  /// Max live bytes, as the compiler counts them.
  int64_t peak() const { return stashes.peak(); }
  void useWorkspace(int64_t node, int64_t bytes) {
    stashes.useWorkspace(node, bytes);
  }

private:
  using Held = std::map<std::pair<int64_t, int64_t>, int64_t>;
  const Channel &end(int64_t channel, int64_t m, bool sender) const;

  const Manifest &manifest;
  const Layout &layout;
  int64_t rank, microbatches;
  StashSlots stashes;
  Held messages; ///< by (channel, slot): the message
  Held claims;   ///< by (channel, message)
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_SLOTS_H
