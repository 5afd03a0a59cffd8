//===- RankMeansTest.cpp - divisions of means of sums over ranks ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Programs.h"

#include "Cuda/Means.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;
using namespace stagewright::runtime::cuda;

namespace {

/// The bucket of both ranks has the gradient, and another of its size after it.
constexpr Address second = gradient + gradientBytes;

/// Two ranks that sum their buckets.
struct Ranks {
  HandmadeProgram programs[2];
  Manifest manifest;
  Memory memory;

  Ranks() {
    manifest.kernels = {
        {.name = "uses", .arguments = 1, .bytes = {gradientBytes}},
        {.name = "mean",
         .arguments = 2,
         .bytes = {gradientBytes, 0},
         .mean = true},
        {.name = "means",
         .arguments = 3,
         .bytes = {gradientBytes, 0, gradientBytes},
         .mean = true},
        {.name = "sum",
         .arguments = 2,
         .bytes = {gradientBytes, 0},
         .sums = {0}}};
    manifest.collectives = {{.name = "sum",
                             .dtype = SW_F32,
                             .elements = 64,
                             .buckets = {{0, 0, 2}, {1, 0, 2}}}};
    memory.arenas = {gradient, gradient};
    memory.layouts.resize(2);
    for (Layout &layout : memory.layouts)
      layout.buffers.resize(2);
  }

  /// Of rank `rank`.
  void sumOverRanks(int rank) {
    programs[rank].it.commands.push_back({Command::Reduce, 0});
    programs[rank].it.commands.push_back({Command::Await, 0});
  }
  int64_t run() {
    std::vector<RankProgram> all = {programs[0].it, programs[1].it};
    int64_t folded = foldMeans(all, manifest, memory);
    for (int rank : {0, 1})
      programs[rank].it = all[size_t(rank)];
    return folded;
  }
  double alpha(int rank, size_t product) const {
    return programs[rank].it.contractions[product].alpha;
  }
};

TEST(RankMeans, EachRankDividesItsPart) {
  Ranks ranks;
  for (int rank : {0, 1}) {
    HandmadeProgram &program = ranks.programs[rank];
    program.product(gradient, 0);
    program.product(gradient, 1);
    program.product(other, 0); // Outside of the bucket.
    ranks.sumOverRanks(rank);
    program.launch(1, {gradient, 4});
    program.launch(1, {other, 2});
  }
  EXPECT_EQ(ranks.run(), 4);
  for (int rank : {0, 1}) {
    EXPECT_EQ(ranks.alpha(rank, 0), 0.25);
    EXPECT_EQ(ranks.alpha(rank, 1), 0.25);
    EXPECT_EQ(ranks.alpha(rank, 2), 0.5);
    ASSERT_EQ(ranks.programs[rank].it.commands.size(), 5u);
    EXPECT_EQ(ranks.programs[rank].it.commands[4].kind, Command::Await);
  }
}

TEST(RankMeans, ARankWithoutMicrobatchesSumsZeros) {
  Ranks ranks;
  ranks.programs[0].product(gradient, 0);
  ranks.programs[1].fill(gradient, gradientBytes);
  for (int rank : {0, 1}) {
    ranks.sumOverRanks(rank);
    ranks.programs[rank].launch(1, {gradient, 4});
  }
  EXPECT_EQ(ranks.run(), 2);
  EXPECT_EQ(ranks.alpha(0, 0), 0.25);
}

TEST(RankMeans, NoneDividesItsPartIfOneCannot) {
  Ranks ranks;
  for (int rank : {0, 1}) {
    ranks.programs[rank].product(gradient, 0);
    if (rank == 1)
      ranks.programs[rank].launch(0, {gradient});
    ranks.sumOverRanks(rank);
    ranks.programs[rank].launch(1, {gradient, 4});
  }
  EXPECT_EQ(ranks.run(), 0);
  EXPECT_EQ(ranks.alpha(0, 0), 1);
}

TEST(RankMeans, NorIfOneDividesByAnotherNumber) {
  Ranks ranks;
  for (int rank : {0, 1}) {
    ranks.programs[rank].product(gradient, 0);
    ranks.sumOverRanks(rank);
    ranks.programs[rank].launch(1, {gradient, uint64_t(3 + rank)});
  }
  EXPECT_EQ(ranks.run(), 0);
}

/// Rank 0 divides both gradients in one kernel. One of them cannot be folded on
/// rank 1, so the kernel stays, and so does the other division of rank 1.
TEST(RankMeans, AKernelStaysAsAWhole) {
  Ranks ranks;
  for (int rank : {0, 1}) {
    ranks.programs[rank].product(gradient, 0);
    ranks.programs[rank].product(second, 0);
  }
  ranks.programs[1].launch(0, {second});
  for (int rank : {0, 1})
    ranks.sumOverRanks(rank);
  ranks.programs[0].launch(2, {gradient, 4, second});
  ranks.programs[1].launch(1, {gradient, 4});
  ranks.programs[1].launch(1, {second, 4});
  EXPECT_EQ(ranks.run(), 0);
  for (int rank : {0, 1})
    EXPECT_EQ(ranks.alpha(rank, 0), 1);
}

/// What a kernel adds after ranks have summed is not a part of their sum.
TEST(RankMeans, WhatIsAddedLaterIsNotAPart) {
  Ranks ranks;
  for (int rank : {0, 1}) {
    ranks.programs[rank].product(gradient, 0);
    ranks.sumOverRanks(rank);
    ranks.programs[rank].product(gradient, 1);
    ranks.programs[rank].launch(1, {gradient, 4});
  }
  EXPECT_EQ(ranks.run(), 0);
}

/// The sum is divided later than another of the same kernel, by another number.
TEST(RankMeans, AKernelDividesByOneNumber) {
  Ranks ranks;
  ranks.manifest.kernels[3] = {.name = "sums",
                               .arguments = 3,
                               .bytes = {gradientBytes, gradientBytes, 0},
                               .sums = {0, 1}};
  for (int rank : {0, 1}) {
    ranks.programs[rank].launch(3, {gradient, other, 0});
    ranks.sumOverRanks(rank);
    ranks.programs[rank].launch(1, {gradient, 4});
    ranks.programs[rank].launch(1, {other, 3});
  }
  EXPECT_EQ(ranks.run(), 2);
  for (int rank : {0, 1})
    EXPECT_EQ(ranks.programs[rank].it.values[2],
              uint64_t(1) << SW_SUMS_DIVIDE | uint64_t(4) << SW_SUMS_COUNT);
}

} // namespace
