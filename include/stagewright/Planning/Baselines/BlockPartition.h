//===- BlockPartition.h - blocks of a sequence ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithm with which torchgpipe balances a model: block partitions of
// sequences (Barany and Grinberg, arXiv 1308.2452). It makes the block sums
// similar and ignores transfers, memory and replicas.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BLOCKPARTITION_H
#define STAGEWRIGHT_PLANNING_BLOCKPARTITION_H

#include <cstddef>
#include <vector>

namespace stagewright {

/// The ends of `blocks` blocks of `weights`, none empty; 1 <= blocks <= size.
/// With the weights scaled so that their min is 0 and their max 1, the sums of
/// any two blocks differ by at most 1, unless an element had to be moved to
/// avoid an empty block. The max block sum need not be optimal. Starts from
/// equal counts, with the rest in the last block. While the largest sum exceeds
/// the smallest by more than 1, an element moves into the smallest block
/// nearest to the largest, from the side of the largest. At most k n^2 moves,
/// each in O(n), for k blocks of n weights.
std::vector<size_t> blockPartition(const std::vector<double> &weights,
                                   size_t blocks);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BLOCKPARTITION_H
