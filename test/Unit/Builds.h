//===- Builds.h - smaller tests in slow builds ------------------*- C++ -*-===//
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

/// Builds with more checks run many times slower, so their tests use one of
/// every kPart random instances.
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

/// For tests of large published instances: slow builds skip them, because
/// smaller instances test the same code.
#define STAGEWRIGHT_SKIP_IN_SLOW_BUILDS()                                      \
  if (stagewright::testing::kPart > 1)                                         \
  GTEST_SKIP() << "takes minutes here; smaller instances run the same code"

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_BUILDS_H
