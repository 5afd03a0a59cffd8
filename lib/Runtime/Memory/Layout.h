//===- Layout.h - where every buffer lies in a rank's arena -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One arena per rank: the buffers in the manifest's order, then the rings of
// the channels the rank receives, in their order. A stash that has a place in
// the workspace takes no bytes of its own. Every slot starts at a
// multiple of 64 bytes (a cache line, and what the vector code assumes). The
// compiler adds up the same numbers; that the sums agree is checked when a
// step is made, so the printed bytes are the allocated bytes.
//
// Stashes that wait on the host come behind all that, in bytes that are not the
// arena's: those of a device lie elsewhere, those of a processor do not.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_LAYOUT_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_LAYOUT_H

#include "Artifact/Manifest.h"

namespace stagewright::runtime {

/// Alignment of slots and arenas, bytes.
inline constexpr int64_t alignment = 64;

/// The first multiple of `to` from `bytes` on.
constexpr int64_t alignUp(int64_t bytes, int64_t to = alignment) {
  return (bytes + to - 1) / to * to;
}

/// A ring of `slots` slots, `stride` bytes apart, `offset` bytes into the
/// arena; with starts, a slot for each microbatch so many bytes behind that.
struct Ring {
  int64_t offset = 0, stride = 0, slots = 1;
  std::vector<int64_t> starts;
  bool onHost = false; ///< `offset` is behind the arena.

  /// Where the slot of microbatch `m` begins in the arena; throws where it has
  /// none.
  int64_t at(int64_t m) const;
  /// From the first byte of all slots to behind the last.
  int64_t bytes() const;
  /// Whether byte `at` of the arena is in a slot.
  bool has(int64_t at) const;
};

struct Layout {
  std::vector<Ring> buffers;  ///< by buffer number
  std::vector<Ring> channels; ///< by channel number; empty where not received
  int64_t total = 0;          ///< bytes of the arena
  int64_t fixed = 0; ///< bytes held all the time: all but stash and workspace
  int64_t host = 0;  ///< bytes on the host, behind `total`
};

/// Lays out the arena of one rank; linear in buffers and channels. Throws when
/// the sum does not fit into 48 bits, or when a buffer that needs one slot per
/// microbatch has fewer.
Layout layOut(const Manifest &manifest, int64_t rank, int64_t microbatches);
/// Those of all ranks.
std::vector<Layout> layOut(const Manifest &manifest, int64_t microbatches);

/// Live bytes that the compiler predicts, exact for the number of microbatches
/// it compiled for; for others the part that does not hang on their number is
/// taken over, which no schedule of fewer microbatches exceeds.
int64_t predictedPeak(const Manifest &manifest, int64_t rank,
                      int64_t microbatches);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_LAYOUT_H
