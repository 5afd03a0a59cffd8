//===- Slots.h - who holds which slot while a rank is recorded --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The account of one rank while its entry runs: which stash slots and which
// ends of channels it holds for which microbatch. It finds what the rank does
// wrong by itself; what ranks do to each other is for Order.h.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_SLOTS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_SLOTS_H

#include "Memory/Layout.h"

#include <map>

namespace stagewright::runtime::cuda {

class Slots {
public:
  Slots(const Manifest &manifest, const Layout &layout, int64_t rank,
        int64_t microbatches)
      : manifest(manifest), layout(layout), rank(rank),
        microbatches(microbatches), live(layout.fixed), highest(live) {}

  /// The ring of a buffer that may be used for `m`.
  const Ring &use(int64_t buffer, int64_t m) const;
  void acquire(int64_t buffer, int64_t m);
  void release(int64_t buffer, int64_t m);

  void claim(int64_t channel, int64_t m);
  void send(int64_t channel, int64_t m);
  /// Whether the message was not held yet.
  bool receive(int64_t channel, int64_t m);
  void giveBack(int64_t channel, int64_t m);

  /// The rank's program is over: throws when something is still held.
  void end() const;
  /// Highest number of live bytes, as the compiler counts them.
  int64_t peak() const { return highest; }
  void useWorkspace(int64_t node, int64_t bytes);

private:
  using Held = std::map<std::pair<int64_t, int64_t>, int64_t>;
  const Channel &end(int64_t channel, int64_t m, bool sender) const;

  const Manifest &manifest;
  const Layout &layout;
  int64_t rank, microbatches;
  Held stashes, messages; ///< by (number, slot): the microbatch
  Held claims;            ///< by (channel, microbatch)
  int64_t live, highest;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_SLOTS_H
