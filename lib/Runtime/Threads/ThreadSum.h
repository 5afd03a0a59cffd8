//===- ThreadSum.h - a sum or gather over threads ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Once all ranks have begun, each rank that waits takes the next block of the
// bucket, adds the ranks' elements in the order of the ranks, and stores the
// sums in all of them. So the bits do not depend on which rank adds which
// block. Nothing is copied or allocated. The blocks of a gather are copied from
// the rank that has them to all others, those of an exchange to one other.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_THREADSUM_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_THREADSUM_H

#include "Memory/Layout.h"
#include "Sum.h"

#include <atomic>

namespace stagewright::runtime {

class ThreadSum {
public:
  ThreadSum(const Collective &described, const std::vector<Layout> &layouts,
            const std::vector<std::byte *> &arenas);

  void reset();
  int64_t ranks() const { return int64_t(arrays.size()); }
  int64_t blocks() const { return count; }
  bool isReady() const { return begun.load() == ranks(); }
  /// Adds or copies one block, if one is left. Expects `isReady`.
  bool addBlock();

  /// The number of ranks that have begun, and of blocks that are summed.
  alignas(64) std::atomic<int64_t> begun{0};
  alignas(64) std::atomic<int64_t> added{0};
  /// The number of ranks that have awaited a carried sum or a gather.
  std::atomic<int64_t> left{0};

private:
  void copyBlock(int64_t number) const;

  bool gathers, exchanges;
  sw_dtype dtype;
  /// Elements of a bucket, or of a part to gather; elements of a block.
  int64_t elements, block;
  int64_t count;                   ///< blocks, of all parts
  std::vector<std::byte *> arrays; ///< by rank of the collective
  alignas(64) std::atomic<int64_t> next{0};
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_THREADSUM_H
