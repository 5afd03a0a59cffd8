//===- ProfileTest.cpp - measured seconds of nodes ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Profile.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Profile, ReadsSeconds) {
  Result<Profile> profile = parseProfile(
      R"({"device_class": "cpu-core", "nodes": {"h0.F": 0.5, "h0.I": 1}})",
      "p.json");
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->deviceClass, "cpu-core");
  EXPECT_EQ(profile->nodes.at("h0.I"), Seconds(1));
}

TEST(Profile, ReadsActionsHopsAndTheStep) {
  Result<Profile> profile = parseProfile(
      R"({"device_class": "c", "nodes": {}, "actions": {"0F": 2}, "hops":
          {"0>1": 0.25}, "step": {"seconds": 9, "before": 1, "after": 0.5}})",
      "p.json");
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->actions.at("0F"), Seconds(2));
  EXPECT_EQ(profile->hops.at("0>1"), Seconds(0.25));
  ASSERT_TRUE(profile->step);
  EXPECT_EQ(profile->step->seconds, Seconds(9));
  EXPECT_EQ(profile->step->after, Seconds(0.5));
  EXPECT_EQ(
      parseProfile(
          R"({"device_class": "c", "nodes": {}, "actions": {"0F": "x"}})",
          "p.json")
          .error()
          .message,
      "p.json: seconds of action '0F' must be a number of at least 0, got "
      "\"x\"");
}

TEST(Profile, ErrorsNameTheNode) {
  EXPECT_EQ(parseProfile(R"({"nodes": {}})", "p.json").error().message,
            "p.json has no field 'device_class'");
  EXPECT_EQ(parseProfile(R"({"device_class": "c"})", "p.json").error().message,
            "p.json has no object 'nodes'");
  EXPECT_EQ(
      parseProfile(R"({"device_class": "c", "nodes": {"a.F": -1}})", "p.json")
          .error()
          .message,
      "p.json: seconds of node 'a.F' must be a number of at least 0, got "
      "-1");
}
