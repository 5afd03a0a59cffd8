//===- DeviceGroupsTest.cpp - devices of stages, as text ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/DeviceGroups.h"
#include "gtest/gtest.h"

using namespace stagewright;
using Groups = std::vector<std::vector<int64_t>>;

TEST(DeviceGroupsTest, GroupsHaveNumbersAndRanges) {
  EXPECT_EQ(*parseDeviceGroups("", {2, 1}), Groups());
  EXPECT_EQ(*parseDeviceGroups("3", {1}), Groups{{3}});
  EXPECT_EQ(*parseDeviceGroups("0-2,5;3,1", {4, 2}),
            (Groups{{0, 1, 2, 5}, {3, 1}}));
}

TEST(DeviceGroupsTest, MistakesAreNamed) {
  for (const char *text : {"a", "0-", "-1", "2-1", "0,,1", "0;;1", "0.5",
                           "0-99999999", "0 1", ";", "0;1;", "0;1,"})
    EXPECT_FALSE(parseDeviceGroups(text, {1, 1})) << text;
  EXPECT_EQ(parseDeviceGroups("0,2-1;3", {2, 1}).error().message,
            "'2-1' in '0,2-1;3' is neither a device nor a range of devices; "
            "write the devices of each stage, such as 0-2;1,3");
  EXPECT_EQ(parseDeviceGroups("0;1-3,2", {1, 4}).error().message,
            "device 2 is twice in the group '1-3,2'; a device has one shard of "
            "a stage");
  EXPECT_EQ(parseDeviceGroups("0;;1", {1, 1, 1}).error().message,
            "a group in '0;;1' has no devices; write the devices of each "
            "stage, such as 0-2;1,3");
}

TEST(DeviceGroupsTest, GroupsHaveADeviceForEachShard) {
  for (const char *text : {"0-1;2-3", "0-1", "0-1;2-4;5", "0-4"})
    EXPECT_EQ(parseDeviceGroups(text, {2, 3}).error().message,
              "the stages have 2,3 shards, but their devices are '" +
                  std::string(text) + "'; give a device for each shard");
}
