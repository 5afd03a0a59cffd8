//===- HostsTest.cpp - which processes share a host -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Hosts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

using namespace stagewright::runtime;

namespace {

HostSite site(const char *name, const char *boot) {
  HostSite it;
  std::strcpy(it.name, name);
  std::strcpy(it.boot, boot);
  return it;
}

TEST(Hosts, ContainersOfOneNameOnTwoMachinesAreTwoHosts) {
  const char *one = "3f1c9a52", *two = "90ab12cd";
  EXPECT_EQ(namesOf({site("worker", one), site("worker", two),
                     site("worker", one), site("other", one)}),
            (std::vector<std::string>{"worker (boot 3f1c9a52)",
                                      "worker (boot 90ab12cd)",
                                      "worker (boot 3f1c9a52)", "other"}));
  EXPECT_EQ(namesOf({site("worker", one), site("worker", one)}),
            (std::vector<std::string>{"worker", "worker"}));
}

TEST(Hosts, AreNamedByTheEnvironment) {
  HostSite own = ownHost();
  EXPECT_EQ(own.boot, readBoot());
  EXPECT_TRUE(own == ownHost());
  setenv("STAGEWRIGHT_HOST", "a", 1);
  EXPECT_STREQ(ownHost().name, "a");
  EXPECT_STREQ(ownHost().boot, "");
  unsetenv("STAGEWRIGHT_HOST");
}

} // namespace
