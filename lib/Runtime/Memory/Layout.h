//===- Layout.h - where every buffer lies in a rank's arena -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's arena has its buffers in the manifest's order, then the rings of the
// channels that it receives, in order. A stash with a place in the workspace
// takes no bytes of its own. Every slot is aligned to 64 bytes (a cache line,
// and what the vector code assumes). The compiler computes the same layout. A
// step with its number of microbatches compares the totals when it is created:
// the runtime allocates exactly the bytes that the compiler printed.
//
// Stashes offloaded to the host have offsets after the end of the arena. For a
// device they are in separate host memory, for a CPU right after the arena.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_LAYOUT_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_LAYOUT_H

#include "Artifact/Manifest.h"

namespace stagewright::runtime {

/// Alignment of slots and arenas, bytes.
inline constexpr int64_t alignment = 64;

/// `bytes` rounded up to a multiple of `to`.
constexpr int64_t alignUp(int64_t bytes, int64_t to = alignment) {
  return (bytes + to - 1) / to * to;
}

/// A ring of `slots` slots, `stride` bytes apart, from `offset` in the arena.
/// If there are `starts`, the slot of microbatch m is at offset + starts[m].
struct Ring {
  int64_t offset = 0, stride = 0, slots = 1;
  std::vector<int64_t> starts;
  bool onHost = false; ///< `offset` is after the end of the arena.

  /// Offset in the arena of the slot of microbatch `m`; throws if it has none.
  int64_t at(int64_t m) const;
  /// Bytes from `offset` to the end of the last slot.
  int64_t bytes() const;
  /// Whether byte `at` of the arena is in a slot.
  bool has(int64_t at) const;
};

struct Layout {
  std::vector<Ring> buffers;  ///< by buffer number
  std::vector<Ring> channels; ///< by channel number; empty where not received
  int64_t total = 0;          ///< bytes of the arena
  int64_t fixed = 0; ///< bytes live all the time: all but stash and workspace
  int64_t host = 0;  ///< bytes of offloaded stashes, after `total`

  /// The ring of buffer `number`; throws unless that exists, and `m` is one of
  /// the microbatches.
  const Ring &buffer(int64_t number, int64_t m, int64_t microbatches) const;
};

/// Lays out the arena of one rank; linear in buffers and channels. Throws when
/// the sum does not fit into 48 bits, or when a buffer that needs one slot per
/// microbatch has fewer.
Layout layOut(const Manifest &manifest, int64_t rank, int64_t microbatches);
/// The layouts of all ranks.
std::vector<Layout> layOut(const Manifest &manifest, int64_t microbatches);

/// Peak of live bytes that the compiler predicts: exact for the number of
/// microbatches it compiled for. For fewer microbatches it is an upper bound:
/// the compiler's peak with fewer fixed bytes. For more it is the size of the
/// arena.
int64_t predictedPeak(const Manifest &manifest, int64_t rank,
                      int64_t microbatches);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_LAYOUT_H
