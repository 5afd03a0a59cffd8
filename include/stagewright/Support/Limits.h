//===- Limits.h - limits for the size of a step -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits far above those of practical steps, checked when files and flags are
// read: a typing mistake is then an error, not an overflow or out of memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_LIMITS_H
#define STAGEWRIGHT_SUPPORT_LIMITS_H

#include <cstdint>

namespace stagewright {

/// Max microbatches of one step: orders and proofs have every microbatch.
inline constexpr int64_t kMostMicrobatches = int64_t(1) << 16;

/// Max stages of one program, and max ranks.
inline constexpr int64_t kMostStages = int64_t(1) << 16;

/// Max forwards of one schedule: stages times microbatches.
inline constexpr int64_t kMostForwards = int64_t(1) << 22;

/// Max bytes of one tensor, and of one arena (the runtime's limit too).
inline constexpr int64_t kMostBytes = int64_t(1) << 48;

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_LIMITS_H
