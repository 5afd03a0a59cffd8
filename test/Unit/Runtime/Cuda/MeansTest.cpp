//===- MeansTest.cpp - divisions of means in products ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Means.h"
#include "Cuda/Programs.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;
using namespace stagewright::runtime::cuda;

namespace {

constexpr int64_t bytes = gradientBytes;

struct Program : HandmadeProgram {
  Program() {
    kernels = {
        {.name = "uses", .arguments = 1},
        {.name = "mean", .arguments = 2, .bytes = {bytes, 0}, .mean = true},
        {.name = "sums",
         .arguments = 4,
         .bytes = {64, bytes, bytes, 0},
         .sums = {1, 2}},
        {.name = "scatter",
         .arguments = 4,
         .bytes = {64, bytes, bytes, 0},
         .sums = {1},
         .adds = {2}},
        {.name = "means",
         .arguments = 3,
         .bytes = {bytes, bytes, 0},
         .mean = true}};
  }
  void mean(uint64_t count = 4) { launch(1, {gradient, count}); }
  /// The last argument of a kernel.
  uint64_t bits(size_t command) const {
    const Command &launch = it.commands[command];
    return it.values[size_t(launch.to) + size_t(launch.bytes) - 1];
  }
  int64_t run() {
    Manifest manifest;
    manifest.kernels = kernels;
    std::vector<RankProgram> programs = {it};
    int64_t folded = foldMeans(programs, manifest, {});
    it = programs[0];
    return folded;
  }
};

TEST(Means, ProductsAreDividedAsTheyAreStored) {
  Program program;
  program.product(gradient, 0);
  program.product(other + 4096, 0);
  program.product(gradient, 1);
  program.mean();
  program.launch(0, {gradient}); // an update
  EXPECT_EQ(program.run(), 1);
  ASSERT_EQ(program.it.commands.size(), 4u);
  EXPECT_EQ(program.it.commands[3].id, 0);
  EXPECT_EQ(program.it.contractions[0].alpha, 0.25);
  EXPECT_EQ(program.it.contractions[1].alpha, 1);
  EXPECT_EQ(program.it.contractions[2].alpha, 0.25);
}

TEST(Means, ASumMayBeginWithZeros) {
  Program program;
  program.fill(gradient, bytes);
  program.product(gradient, 1);
  program.mean(3);
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.it.contractions[0].alpha, 1. / 3);
}

TEST(Means, WhatSomethingElseHasMadeOrReadIsDividedByItsKernel) {
  auto runs = [](auto change) {
    Program program;
    program.product(gradient, 0);
    change(program);
    program.mean();
    int64_t count = program.run();
    for (const Contraction &it : program.it.contractions)
      EXPECT_EQ(it.alpha, 1);
    return count;
  };
  // A kernel uses the gradient, or it is an operand or a bias of a product.
  EXPECT_EQ(runs([](Program &it) { it.launch(0, {gradient + 64}); }), 0);
  EXPECT_EQ(runs([](Program &it) { it.product(other, 0).a = gradient; }), 0);
  EXPECT_EQ(runs([](Program &it) { it.product(other, 0).bias = gradient; }), 0);
  // A product writes half of the gradient, leaves gaps, adds another array, or
  // has a fallback kernel.
  EXPECT_EQ(runs([](Program &it) { it.product(gradient, 1).desc.gemm.m = 2; }),
            0);
  EXPECT_EQ(
      runs([](Program &it) { it.product(gradient, 1).desc.gemm.c_row = 9; }),
      0);
  EXPECT_EQ(runs([](Program &it) {
              it.product(gradient, 1).desc.epilogue = SW_EPILOGUE_ADD;
            }),
            0);
  EXPECT_EQ(
      runs([](Program &it) { it.product(gradient, 1).desc.otherwise = 1; }), 0);
  // The gradient starts with values other than zeros, or is the target of a
  // copy.
  EXPECT_EQ(runs([](Program &it) { it.fill(gradient, bytes, 1); }), 0);
  EXPECT_EQ(runs([](Program &it) {
              it.it.commands.push_back(
                  {Command::Copy, 0, 0, gradient, other, bytes});
            }),
            0);
}

constexpr uint64_t second = other + 4096;
uint64_t divided(unsigned sum, uint64_t count) {
  return uint64_t(1) << (16 + sum) | count << 32;
}

TEST(Means, TheKernelThatStoresASumLastDivides) {
  Program program;
  program.product(gradient, 0);
  for (int i = 0; i < 2; ++i)
    program.launch(2, {other, second, gradient, 0});
  program.mean(3);
  program.launch(0, {gradient});
  EXPECT_EQ(program.run(), 1);
  ASSERT_EQ(program.it.commands.size(), 4u);
  EXPECT_EQ(program.it.contractions[0].alpha, 1);
  EXPECT_EQ(program.bits(1), 0u);
  EXPECT_EQ(program.bits(2), divided(1, 3));
}

TEST(Means, KernelsThatAddToElementsDivideWhatTheyAdd) {
  Program program;
  program.fill(gradient, bytes);
  program.launch(3, {other, second, gradient, 1});
  program.product(gradient, 1);
  program.launch(3, {other, second, gradient, 0});
  program.mean();
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.it.contractions[0].alpha, 0.25);
  EXPECT_EQ(program.bits(1), 1 | divided(1, 4));
  EXPECT_EQ(program.bits(3), divided(1, 4));
}

TEST(Means, AKernelOfSeveralMeansIsRemovedAsAWhole) {
  Program program;
  program.launch(2, {other, second, gradient, 0});
  program.launch(4, {gradient, second, 5});
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.bits(0), divided(0, 5) | divided(1, 5));
  Program half;
  half.launch(2, {other, second, gradient, 0});
  half.launch(0, {second});
  half.launch(4, {gradient, second, 5});
  EXPECT_EQ(half.run(), 0);
  EXPECT_EQ(half.bits(0), 0u);
}

TEST(Means, OnlyASumThatNothingElseHasUsedIsDividedByAKernel) {
  auto runs = [](auto change) {
    Program program;
    change(program);
    program.mean();
    int64_t count = program.run();
    for (size_t i = 0; i < program.it.commands.size(); ++i) {
      EXPECT_EQ(program.it.commands[i].kind == Command::Launch &&
                    program.it.commands[i].id >= 2 && program.bits(i) != 0,
                false);
    }
    return count;
  };
  auto sum = [](Program &it) { it.launch(2, {other, second, gradient, 0}); };
  auto scatter = [](Program &it) {
    it.launch(3, {other, second, gradient, 0});
  };
  // The stored sum is read; a product is added to it; elements are added to it.
  EXPECT_EQ(runs([&](Program &it) {
              sum(it);
              it.launch(0, {gradient});
            }),
            0);
  EXPECT_EQ(runs([&](Program &it) {
              sum(it);
              it.product(gradient, 1);
            }),
            0);
  EXPECT_EQ(runs([&](Program &it) {
              sum(it);
              scatter(it);
            }),
            0);
  // The sum is not filled with zeros before elements are added.
  EXPECT_EQ(runs(scatter), 0);
  // The kernel is a fallback of a library call, so perhaps it does not run.
  EXPECT_EQ(runs([&](Program &it) {
              sum(it);
              it.it.commands.back().instead = 0;
            }),
            0);
}

TEST(Means, TheCountIsBeforeTheBitsOfAMeansOwnSums) {
  Program program;
  program.kernels[1].arguments = 3;
  program.kernels[1].bytes = {bytes, 0, 0};
  program.kernels[1].sums = {0};
  program.product(gradient, 0);
  program.launch(1, {gradient, 4, 0});
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.it.contractions[0].alpha, 0.25);
}

TEST(Means, TheCountIsBetweenTheArrays) {
  Program program;
  program.kernels[4].bytes = {bytes, 0, bytes};
  program.launch(2, {other, second, gradient, 0});
  program.launch(4, {gradient, 3, second});
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.bits(0), divided(0, 3) | divided(1, 3));
}

TEST(Means, AKernelDividesByOneNumber) {
  Program program;
  program.launch(2, {other, second, gradient, 0});
  program.mean(4);
  program.launch(1, {second, 3});
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.bits(0), divided(1, 4));
}

TEST(Means, AMeanOfZerosOrOfAnotherLengthStays) {
  Program zeros;
  zeros.fill(gradient, bytes);
  zeros.mean();
  EXPECT_EQ(zeros.run(), 0);
  Program half;
  half.product(gradient, 0);
  half.kernels[1].bytes[0] = bytes / 2;
  half.mean();
  EXPECT_EQ(half.run(), 0);
  Program standsIn;
  standsIn.product(gradient, 0);
  standsIn.mean();
  standsIn.it.commands.back().instead = 0;
  EXPECT_EQ(standsIn.run(), 0);
}

} // namespace
