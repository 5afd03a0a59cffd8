//===- BlockPartition.h - blocks of a sequence --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How torchgpipe balances a model: block partitions of sequences (Barany and
// Grinberg, arXiv 1308.2452). It makes the blocks of a sequence alike, without
// regard to transfers, memory or replicas.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BLOCKPARTITION_H
#define STAGEWRIGHT_PLANNING_BLOCKPARTITION_H

#include <cstddef>
#include <vector>

namespace stagewright {

/// The ends of `blocks` blocks of `weights`, none empty; 1 <= blocks <= size.
/// With the weights scaled to [0, 1] (least and largest) the sums of any two
/// blocks differ by at most 1, unless a block had to be given an element to be
/// none empty. The largest block need not be the least possible. Starts from
/// equal counts, the rest in the last block; while the largest exceeds the
/// smallest by more than 1, an element moves into the smallest block that is
/// nearest to it, from the side of the largest. Time O(k n^3) moves at most.
std::vector<size_t> blockPartition(const std::vector<double> &weights,
                                   size_t blocks);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BLOCKPARTITION_H
