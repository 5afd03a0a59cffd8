//===- Programs.h - programs of commands for tests --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_RUNTIME_CUDA_PROGRAMS_H
#define STAGEWRIGHT_TEST_UNIT_RUNTIME_CUDA_PROGRAMS_H

#include "Cuda/Program.h"

#include "stagewright-rt/runtime.h"

/// Addresses of a gradient of 4 x 8 float32 and of another array.
constexpr stagewright::runtime::cuda::Address gradient = 4096, other = 8192;
constexpr int64_t gradientBytes = 4 * 8 * 4;

/// Products with results of 4 x 8 float32, fills and launches.
struct HandmadeProgram {
  using Address = stagewright::runtime::cuda::Address;
  using Command = stagewright::runtime::cuda::Command;
  using Contraction = stagewright::runtime::cuda::Contraction;

  stagewright::runtime::cuda::RankProgram it;
  std::vector<stagewright::runtime::Kernel> kernels;

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
  void launch(int64_t kernel, const std::vector<uint64_t> &values) {
    it.commands.push_back({Command::Launch, kernel, 0, it.values.size(), 0,
                           int64_t(values.size())});
    it.values.insert(it.values.end(), values.begin(), values.end());
  }
};

#endif // STAGEWRIGHT_TEST_UNIT_RUNTIME_CUDA_PROGRAMS_H
