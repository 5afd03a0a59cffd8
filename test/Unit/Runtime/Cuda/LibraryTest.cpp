//===- LibraryTest.cpp - library versions in order of preference ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Library.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime::cuda;

namespace {

LibraryName named(const char *newer, const char *older) {
  return {
      {newer, older}, "STAGEWRIGHT_NO_LIBRARY", "a test needs it", "nobody"};
}

TEST(Library, AnOlderVersionIsTakenWhereThereIsNoNewer) {
  LibraryName name = named("libnowhere.so.13", "libm.so.6");
  EXPECT_EQ(Library(name).path(), "libm.so.6");
  name = named("libm.so.6", "libnowhere.so.12");
  EXPECT_EQ(Library(name).path(), "libm.so.6");
}

TEST(Library, TheErrorNamesAllVersions) {
  LibraryName name = named("libnowhere.so.13", "libnowhere.so.12");
  try {
    Library library(name);
    FAIL() << "there is a library";
  } catch (const std::exception &error) {
    EXPECT_EQ(std::string(error.what())
                  .find("cannot open 'libnowhere.so.13' or 'libnowhere.so.12', "
                        "and a test needs it: libnowhere.so.13: "),
              0u)
        << error.what();
  }
}

} // namespace
