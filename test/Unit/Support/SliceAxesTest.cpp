//===- SliceAxesTest.cpp - slices of a tensor over a grid -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/SliceAxes.h"

#include <gtest/gtest.h>
#include <random>

using namespace stagewright;

namespace {

TEST(SliceAxes, TheFirstPartsHaveMoreUnits) {
  // Seven units of two over three parts: 3, 2 and 2.
  EXPECT_EQ(partStart(14, 2, 3, 0), 0);
  EXPECT_EQ(partStart(14, 2, 3, 1), 6);
  EXPECT_EQ(partStart(14, 2, 3, 2), 10);
  EXPECT_EQ(partStart(14, 2, 3, 3), 14);
}

TEST(SliceAxes, GivesWhatEachSliceHas) {
  // The first and the last part along each axis decide for all.
  std::mt19937 random(0);
  auto upTo = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  int given = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<int64_t> shape = {upTo(24), upTo(24)};
    SliceAxes axes;
    for (int64_t axis = 0, count = upTo(3); axis < count; ++axis)
      axes.push_back({.parts = upTo(4),
                      .dim = upTo(2) - 1,
                      .outer = upTo(3),
                      .unit = upTo(2)});
    int64_t rows = upTo(2), elements = 0;
    bool isEach = shape[0] % rows == 0;
    std::vector<int64_t> row = {shape[0] / rows, shape[1]};
    for (int64_t slice = 0; isEach && slice < axes.slices(); ++slice) {
      std::vector<int64_t> own = axes.shapeOf(row, slice);
      isEach = !own.empty() && own[0] > 0 && own[1] > 0;
      elements += isEach ? own[0] * own[1] : 0;
    }
    EXPECT_EQ(axes.give(shape, rows, rows * axes.slices()), isEach);
    EXPECT_FALSE(axes.give(shape, rows, rows * axes.slices() + 1));
    if (isEach)
      EXPECT_EQ(elements, row[0] * row[1]);
    ++(isEach ? given : refused);
  }
  EXPECT_GT(given, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(SliceAxes, RefusesWhatIsNoTensor) {
  SliceAxes axes;
  axes.push_back({.parts = 2});
  EXPECT_TRUE(axes.give({4}, 1, 2));
  EXPECT_FALSE(axes.give({}, 1, 2));
  EXPECT_FALSE(axes.give({4}, 0, 2));
  EXPECT_FALSE(axes.give({2, 4}, 4, 8));
  axes[0].parts = 0;
  EXPECT_FALSE(axes.give({4}, 1, 0));
}

} // namespace
