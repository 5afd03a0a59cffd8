//===- ThreadSum.cpp - a sum or gather over threads -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/ThreadSum.h"

#include "DType.h"

#include <algorithm>
#include <cstring>

namespace stagewright::runtime {

namespace {
/// Bytes of a block in the array of each rank: small enough that all ranks take
/// part, and that a block of every array fits in the cache.
constexpr int64_t blockBytes = 1 << 16;
} // namespace

ThreadSum::ThreadSum(const Collective &described,
                     const std::vector<Layout> &layouts,
                     const std::vector<std::byte *> &arenas)
    : gathers(described.gathers), exchanges(described.exchanges),
      dtype(described.dtype), elements(described.elements),
      block(blockBytes / dtypeSize(described.dtype)),
      count((elements + block - 1) / block *
            (gathers ? int64_t(described.buckets.size()) : 1) *
            (exchanges ? int64_t(described.buckets.size()) : 1)) {
  for (const Bucket &bucket : described.buckets)
    arrays.push_back(
        arenas[bucket.rank] +
        layouts[bucket.rank].buffers[bucket.first].at(bucket.slot));
}

void ThreadSum::copyBlock(int64_t number) const {
  int64_t blocks = (elements + block - 1) / block, part = number / blocks;
  int64_t first = number % blocks * block;
  int64_t bytes = std::min(block, elements - first) * dtypeSize(dtype);
  auto at = [&](int64_t rank, int64_t part) {
    return arrays[size_t(rank)] + (part * elements + first) * dtypeSize(dtype);
  };
  if (exchanges) {
    int64_t from = part / ranks(), to = part % ranks();
    if (from != to)
      std::memcpy(at(to, ranks() + from), at(from, to), size_t(bytes));
    return;
  }
  for (int64_t rank = 0; rank < ranks(); ++rank)
    if (rank != part)
      std::memcpy(at(rank, part), at(part, part), size_t(bytes));
}

void ThreadSum::reset() {
  begun.store(0, std::memory_order_relaxed);
  next.store(0, std::memory_order_relaxed);
  added.store(0, std::memory_order_relaxed);
  left.store(0, std::memory_order_relaxed);
}

bool ThreadSum::addBlock() {
  if (next.load(std::memory_order_relaxed) >= count)
    return false;
  int64_t number = next.fetch_add(1);
  if (number >= count)
    return false;
  if (gathers)
    copyBlock(number);
  else
    sumToAll(dtype, arrays, number * block,
             std::min(elements, (number + 1) * block));
  added.fetch_add(1);
  return true;
}

} // namespace stagewright::runtime
