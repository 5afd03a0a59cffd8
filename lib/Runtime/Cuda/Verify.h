//===- Verify.h - what holds of a plan --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proves of a plan, before anything of it runs:
//
//   - every event that is waited for was recorded before, so the dependences
//     have no circle;
//   - no slot is used by two streams unless one use is over before the other
//     begins: buffers never alias while they live, whatever the streams do;
//   - every address that work is given lies in a buffer that the rank holds at
//     that time, so nothing is used before it came or after it was given back.
//
// What runs before what is told by vector clocks, one entry for each stream
// (Fidge 1988, Mattern 1989); it finds races as FastTrack does (Flanagan and
// Freund, PLDI 2009). Operations times streams.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_VERIFY_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_VERIFY_H

#include "Plan.h"

namespace stagewright::runtime::cuda {

/// Throws an `Error` with the first thing that does not hold. `sizes` are the
/// bytes of each rank's memory, from its arena's address on.
void verifyPlan(const Manifest &manifest, const Memory &memory,
                const std::vector<RankProgram> &programs, const Plan &plan,
                const std::vector<int64_t> &sizes);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_VERIFY_H
