//===- Builds.h - what slow builds leave out --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_BUILDS_H
#define STAGEWRIGHT_TEST_UNIT_BUILDS_H

#include <cstdint>
#include <gtest/gtest.h>

namespace stagewright::testing {

/// Builds that check more and run many times slower draw fewer random
/// instances: one of so many.
#if !defined(NDEBUG)
inline constexpr uint64_t kPart = 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr uint64_t kPart = 20;
#else
inline constexpr uint64_t kPart = 1;
#endif
#else
inline constexpr uint64_t kPart = 1;
#endif

/// In a test of large published instances, which smaller ones of the same code
/// stand for in slow builds.
#define STAGEWRIGHT_SKIP_IN_SLOW_BUILDS()                                      \
  if (stagewright::testing::kPart > 1)                                         \
  GTEST_SKIP() << "takes minutes here; smaller instances run the same code"

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_BUILDS_H
