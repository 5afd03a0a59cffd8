//===- FirstSumsTest.cpp - products that overwrite instead of adding ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/FirstSums.h"

#include "stagewright-rt/runtime.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime::cuda;
using stagewright::runtime::Kernel;

namespace {

constexpr Address gradient = 4096, other = 8192;

/// A program that fills 4 x 8 float32 at `gradient`.
struct Program {
  RankProgram it;
  std::vector<Kernel> kernels = {{.name = "any", .arguments = 1}};

  Program() { fill(gradient, 4 * 8 * 4); }

  void fill(Address to, int64_t bytes, Address byte = 0) {
    it.commands.push_back({Command::Fill, 0, 0, to, byte, bytes});
  }
  Contraction &product(Address c, int32_t beta = 1) {
    Contraction made = {};
    made.desc.gemm = {SW_F32, beta, 4, 8, 16,     {1, 1}, 1,     4,
                      8,      1,    8, 1, {0, 0}, {0, 0}, {0, 0}};
    made.a = made.b = other;
    made.c = c;
    it.commands.push_back({Command::Contract, int64_t(it.contractions.size())});
    it.contractions.push_back(made);
    return it.contractions.back();
  }
  void launch(Address argument) {
    it.commands.push_back({Command::Launch, 0, 0, it.values.size(), 0, 1});
    it.values.push_back(argument);
  }
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
  // A kernel adds first; a part of it; as an operand; by a sum over ranks.
  EXPECT_EQ(runs([](Program &it) {
              it.launch(gradient);
              it.product(gradient);
            }),
            0);
  EXPECT_EQ(runs([](Program &it) {
              it.launch(gradient + 64);
              it.product(gradient);
            }),
            0);
  EXPECT_EQ(runs([](Program &it) { it.product(other).a = gradient; }), 0);
  EXPECT_EQ(runs([](Program &it) {
              it.it.commands.push_back({Command::Reduce});
              it.product(gradient);
            }),
            0);
  // Another kernel may stand in for the product, and would add.
  EXPECT_EQ(runs([](Program &it) { it.product(gradient).desc.otherwise = 1; }),
            0);
  // The product has half of it, or holes.
  EXPECT_EQ(runs([](Program &it) { it.product(gradient).desc.gemm.m = 2; }), 0);
  EXPECT_EQ(runs([](Program &it) { it.product(gradient).desc.gemm.c_row = 9; }),
            0);
  // Nothing adds to it: no microbatches.
  EXPECT_EQ(runs([](Program &) {}), 0);
}

/// A kernel that adds what lies at its second argument to its first.
struct Adding : Program {
  explicit Adding(int64_t bytes = 4 * 8 * 4) {
    kernels.push_back(
        {.name = "adds", .arguments = 3, .bytes = {bytes, 64, 0}, .sums = {0}});
  }
  void add(Address sum, Address term) {
    it.commands.push_back({Command::Launch, 1, 0, it.values.size(), 0, 3});
    it.values.insert(it.values.end(), {sum, term, 0});
  }
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
  // It reads what it adds to.
  Adding same;
  same.add(gradient, gradient + 64);
  EXPECT_EQ(same.run(), 0);
  // Its other argument ends before, and would by one byte more not.
  Adding before;
  before.add(gradient, gradient - 64);
  EXPECT_EQ(before.run(), 1);
  Adding into;
  into.add(gradient, gradient - 63);
  EXPECT_EQ(into.run(), 0);
  // It stands in for a call that may be there.
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
  program.launch(other);
  program.it.commands.back().instead = 2;
  EXPECT_EQ(program.run(), 1);
  EXPECT_EQ(program.it.commands.back().instead, 1);
}

} // namespace
