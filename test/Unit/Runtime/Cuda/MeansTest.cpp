//===- MeansTest.cpp - divisions of means in products ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/Means.h"
#include "Cuda/Programs.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime::cuda;

namespace {

constexpr int64_t bytes = gradientBytes;

struct Program : HandmadeProgram {
  Program() {
    kernels = {
        {.name = "uses", .arguments = 1},
        {.name = "mean", .arguments = 2, .bytes = {bytes, 0}, .mean = true}};
  }
  void mean(uint64_t count = 4) { launch(1, {gradient, count}); }
  int64_t run() { return scaleProductsOfMeans(it, kernels); }
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
  // A kernel adds or reads; an operand; a bias; a sum over ranks.
  EXPECT_EQ(runs([](Program &it) { it.launch(0, {gradient + 64}); }), 0);
  EXPECT_EQ(runs([](Program &it) { it.product(other, 0).a = gradient; }), 0);
  EXPECT_EQ(runs([](Program &it) { it.product(other, 0).bias = gradient; }), 0);
  EXPECT_EQ(
      runs([](Program &it) { it.it.commands.push_back({Command::Reduce}); }),
      0);
  // A product of half of it, one with gaps, one with a further addition, and
  // one with a fallback kernel.
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
  // It starts with other values than zeros, or is the target of a copy.
  EXPECT_EQ(runs([](Program &it) { it.fill(gradient, bytes, 1); }), 0);
  EXPECT_EQ(runs([](Program &it) {
              it.it.commands.push_back(
                  {Command::Copy, 0, 0, gradient, other, bytes});
            }),
            0);
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
