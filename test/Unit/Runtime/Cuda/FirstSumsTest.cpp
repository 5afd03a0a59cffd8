//===- FirstSumsTest.cpp - zero fills that are removed --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/FirstSums.h"
#include "Cuda/Programs.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime::cuda;

namespace {

/// A program that starts with a zero fill of `gradient`.
struct Program : HandmadeProgram {
  Program() {
    kernels = {{.name = "any", .arguments = 1}};
    fill(gradient, gradientBytes);
  }
  void use(Address argument) { launch(0, {argument}); }
  int64_t run() { return overwriteFirstSums(it, kernels); }
};

TEST(FirstSums, TheFirstProductOverwritesAndTheNextAdds) {
  Program program;
  program.product(gradient);
  program.product(gradient);
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.it.commands.size(), 2u);
  EXPECT_EQ(program.it.contractions[0].desc.gemm.beta, 0);
  EXPECT_EQ(program.it.contractions[1].desc.gemm.beta, 1);
}

TEST(FirstSums, ColumnsMayComeFirst) {
  Program program;
  auto &gemm = program.product(gradient).desc.gemm;
  gemm.c_row = 1, gemm.c_col = 4;
  EXPECT_EQ(program.run(), 1);
}

TEST(FirstSums, WhatIsUsedOtherwiseKeepsItsZeros) {
  auto runs = [](auto change) {
    Program program;
    change(program);
    return program.run();
  };
  // Before the product, a kernel uses the gradient or a part of it; the
  // gradient is an operand; ranks are summed before the product.
  EXPECT_EQ(runs([](Program &it) {
              it.use(gradient);
              it.product(gradient);
            }),
            0);
  EXPECT_EQ(runs([](Program &it) {
              it.use(gradient + 64);
              it.product(gradient);
            }),
            0);
  EXPECT_EQ(runs([](Program &it) { it.product(other).a = gradient; }), 0);
  EXPECT_EQ(runs([](Program &it) {
              it.it.commands.push_back({Command::Reduce});
              it.product(gradient);
            }),
            0);
  // A fallback kernel may replace the product, and would add to the gradient.
  EXPECT_EQ(runs([](Program &it) { it.product(gradient).desc.otherwise = 1; }),
            0);
  // The product writes only half of the gradient, or leaves gaps.
  EXPECT_EQ(runs([](Program &it) { it.product(gradient).desc.gemm.m = 2; }), 0);
  EXPECT_EQ(runs([](Program &it) { it.product(gradient).desc.gemm.c_row = 9; }),
            0);
  // Without microbatches nothing adds to the gradient.
  EXPECT_EQ(runs([](Program &) {}), 0);
}

/// A kernel that adds the array of argument 1 to that of argument 0.
struct Adding : Program {
  explicit Adding(int64_t bytes = 4 * 8 * 4) {
    kernels.push_back(
        {.name = "adds", .arguments = 3, .bytes = {bytes, 64, 0}, .sums = {0}});
  }
  void add(Address sum, Address term) { launch(1, {sum, term, 0}); }
};

TEST(FirstSums, TheFirstKernelBeginsWithZerosAndTheNextAdds) {
  Adding program;
  program.add(gradient, other);
  program.add(gradient, other);
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.it.commands.size(), 2u);
  EXPECT_EQ(program.it.values,
            (std::vector<uint64_t>{gradient, other, 1, gradient, other, 0}));
  EXPECT_EQ(unreadBytes(program.kernels[1], 1), 4 * 8 * 4);
  EXPECT_EQ(unreadBytes(program.kernels[1], 0), 0);
}

TEST(FirstSums, AKernelThatDoesNotHaveTheWholeReadsItsZeros) {
  Adding half(2 * 8 * 4);
  half.add(gradient, other);
  EXPECT_EQ(half.run(), 0);
  // The kernel also reads the array to which it adds.
  Adding same;
  same.add(gradient, gradient + 64);
  EXPECT_EQ(same.run(), 0);
  // The other argument ends just before the gradient, or a byte inside it.
  Adding before;
  before.add(gradient, gradient - 64);
  EXPECT_EQ(before.run(), 1);
  Adding into;
  into.add(gradient, gradient - 63);
  EXPECT_EQ(into.run(), 0);
  // The kernel is a fallback of a call, so perhaps it does not run.
  Adding behind;
  behind.add(gradient, other);
  behind.it.commands.back().instead = 0;
  EXPECT_EQ(behind.run(), 0);
}

TEST(FirstSums, OnlyZerosGo) {
  Program program;
  program.it.commands.clear();
  program.fill(gradient, 4 * 8 * 4, 1);
  program.product(gradient);
  EXPECT_EQ(program.run(), 0);
}

TEST(FirstSums, KernelsInThePlaceOfACallKeepTheirPlace) {
  Program program;
  program.product(gradient);
  program.product(other).desc.otherwise = 1;
  program.use(other);
  program.it.commands.back().instead = 2;
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.it.commands.back().instead, 1);
}

} // namespace
