//===- Pending.h - work that fits in a rank's memory ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much a rank can do before its first I, and how much can remain after its
// last F: both are limited by the memory that is held then.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_PENDING_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_PENDING_H

#include "Chain.h"

namespace stagewright::bounds {

/// Upper bound of the time of forwards of `rank` whose activations fit in its
/// memory, at most `most` of them over all its stages.
double forwardsThatFit(const Chain &chain, int64_t rank, int64_t most);

/// Upper bound of the time of I (and, if `weights`, of W) of `rank` that can be
/// pending while all that these actions need is in memory: at most `most`
/// activations that wait for I, any number of others that wait for W.
double backwardsThatFit(const Chain &chain, int64_t rank, int64_t most,
                        bool weights);

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_PENDING_H
