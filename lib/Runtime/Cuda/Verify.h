//===- Verify.h - proves that a plan has no races ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proves for a plan, before it runs:
//
//   - every event that is waited for was recorded before, so the dependences
//     have no cycle;
//   - if two streams use a slot, one use ends before the other begins: live
//     buffers never alias, however the streams interleave;
//   - every address passed to work is in a buffer that the rank holds at that
//     time, so nothing is used before it arrives or after its release.
//
// The happens-before order is tracked by vector clocks, one entry per stream
// (Fidge 1988, Mattern 1989), and races are found as in FastTrack (Flanagan and
// Freund, PLDI 2009). Time O(operations x streams).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_VERIFY_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_VERIFY_H

#include "StreamPlan.h"

namespace stagewright::runtime::cuda {

/// Throws an `Error` with the first violation. `sizes`: by rank, the bytes of
/// its memory, which begins at its arena's address.
void verifyPlan(const Manifest &manifest, const Memory &memory,
                const std::vector<RankProgram> &programs, const Plan &plan,
                const std::vector<int64_t> &sizes);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_VERIFY_H
