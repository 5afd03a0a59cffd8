//===- Packing.h - buffers with lifetimes in one arena ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets for buffers that live at known times, so that no two that live at
// once share bytes and the whole takes little: dynamic storage allocation,
// which is NP-hard (Garey and Johnson, problem SR2). No arena can be smaller
// than the bytes that live at once, `liveBound`; a packing that reaches it is
// optimal.
//
// Not an allocator: every life is known before anything runs. No MLIR, no
// files.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_PACKING_H
#define STAGEWRIGHT_SUPPORT_PACKING_H

#include <cstdint>
#include <map>
#include <vector>

namespace stagewright {

/// Moments from `first` to `last`, both included.
struct Life {
  int64_t first = 0, last = 0;
};

/// A buffer to be placed.
struct PackItem {
  int64_t bytes = 0;       ///< At least 0; what lives at once is at most 2^62.
  std::vector<Life> lives; ///< Ascending, without overlap.
  int64_t offset = 0;      ///< Result.
};

/// How well a packing came out, in bytes.
struct Packing {
  int64_t total = 0; ///< End of the last buffer.
  int64_t bound = 0; ///< Most bytes that live at once.
};

/// Most bytes of `items` that live at one moment.
int64_t liveBound(const std::vector<PackItem> &items);

/// Gives every item its offset. Puts one after the other at the lowest offset
/// that is free during its life, in several orders (by size, by size times
/// life, by first and by last moment; "greedy by size" is Pisarchyk and Lee,
/// "Efficient memory management for deep neural net inference", 2020), and
/// stops at the first that reaches the bound. If none does within a percent,
/// it exchanges items in the best order while a budget lasts. The same items
/// give the same offsets everywhere. With K pairs of items that live at once,
/// an order takes O(n log n + K log K); K is linear in n where few live at
/// once.
Packing pack(std::vector<PackItem> &items);

/// Packs many sets of items of one life each, without exchanging any: the same
/// set is packed once, and in whatever order it is listed it takes the same.
class LifePacker {
public:
  Packing pack(std::vector<PackItem> &items);

private:
  struct Packed {
    Packing packing;
    std::vector<int64_t> offsets; ///< By the order of lives and sizes.
  };
  std::map<std::vector<int64_t>, Packed> known;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_PACKING_H
