//===- Packing.h - buffers with lifetimes in one arena ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assigns offsets to buffers with known lifetimes so that buffers that are live
// at the same time do not overlap and the arena is small. This is dynamic
// storage allocation, which is NP-hard (Garey and Johnson, problem SR2). No
// arena can be smaller than the max number of bytes live at one time,
// `liveBound`; a packing of that size is optimal.
//
// This is no run-time allocator: all lifetimes are known in advance. It uses
// neither MLIR nor files.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_PACKING_H
#define STAGEWRIGHT_SUPPORT_PACKING_H

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace stagewright {

/// A lifetime, from time step `first` to `last` inclusive.
struct Life {
  int64_t first = 0, last = 0;
};

/// A buffer to be placed.
struct PackItem {
  int64_t bytes = 0;       ///< >= 0; liveBound() of all items is at most 2^62.
  std::vector<Life> lives; ///< Ascending, without overlap.
  int64_t offset = 0;      ///< Result.
};

/// A buffer with one lifetime, which is not placed.
struct LiveItem {
  int64_t bytes = 0;
  Life life;
};

/// The same buffers, to be placed.
std::vector<PackItem> packItems(const std::vector<LiveItem> &items);

/// The size of a packing and its lower bound, in bytes.
struct Packing {
  int64_t total = 0; ///< End of the last buffer.
  int64_t bound = 0; ///< liveBound() of the items.
};

/// The max number of bytes of `items` that are live at one time step.
///@{
int64_t liveBound(const std::vector<PackItem> &items);
int64_t liveBound(const std::vector<LiveItem> &items);
///@}

/// Sets the offset of every item. It places the items one by one at the lowest
/// offset that is free during their lifetimes, in several orders (by size, size
/// times lifetime, lifetime, first and last time step; "greedy by size" is
/// Pisarchyk and Lee, "Efficient memory management for deep neural net
/// inference", 2020), and stops at the first order that reaches the bound. If
/// the best is over 1 % above it, items in that order are moved and exchanged a
/// limited number of times. The result is the same on every machine. An order
/// takes O(n log n + K log K) for K pairs of items with overlapping
/// lifetimes; K is linear in n if few items are live at the same time.
Packing pack(std::vector<PackItem> &items);

/// Packs many sets of items with one lifetime each, without exchanges. Results
/// are cached: an equal set, listed in any order, gets the same packing.
class LifePacker {
public:
  Packing pack(std::vector<PackItem> &items);
  /// Whether the total of pack() is at most `most`. Tries no more orders than
  /// that takes.
  bool fits(const std::vector<PackItem> &items, int64_t most);

private:
  struct Packed {
    /// The best known; a total of 2^63 - 1 if none is.
    Packing packing = {std::numeric_limits<int64_t>::max(), 0};
    std::vector<int64_t> offsets; ///< Items sorted by lifetime, then size.
    bool isBest = false;          ///< All orders have been tried.
    int64_t above = 0;            ///< No order takes less.
  };
  /// The best packing or, given `most`, one of at most so many bytes, or any
  /// larger one if there is none. Sets `order` to the order of its offsets.
  Packed &packed(const std::vector<PackItem> &items, std::vector<size_t> &order,
                 std::optional<int64_t> most);
  std::map<std::vector<int64_t>, Packed> known;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_PACKING_H
