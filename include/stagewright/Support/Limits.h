//===- Limits.h - how large a step may be -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds that no sensible step meets, checked where files and flags are read,
// so that a slip in one is an error and not an overflow or a full memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_LIMITS_H
#define STAGEWRIGHT_SUPPORT_LIMITS_H

#include <cstdint>

namespace stagewright {

/// Most microbatches of one step: orders and proofs are written out.
inline constexpr int64_t kMostMicrobatches = int64_t(1) << 16;

/// Most stages of one program, and most ranks.
inline constexpr int64_t kMostStages = int64_t(1) << 16;

/// Most forwards of one schedule, stages times microbatches.
inline constexpr int64_t kMostForwards = int64_t(1) << 22;

/// Most bytes of one tensor, and of one arena (the runtime's limit too).
inline constexpr int64_t kMostBytes = int64_t(1) << 48;

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_LIMITS_H
