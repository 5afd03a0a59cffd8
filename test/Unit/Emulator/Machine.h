//===- Machine.h - launches of small kernels --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_EMULATOR_MACHINE_H
#define STAGEWRIGHT_UNIT_EMULATOR_MACHINE_H

#include "Kernels.h"

#include "Ptx/Block.h"

namespace emulator {

/// Runs blocks of kernelOf(body) on 64 words of input and 64 of output.
class Machine {
public:
  explicit Machine(const std::string &body, const std::string &tables = "")
      : module(ptx::parse(kernelOf(body, tables), memory)),
        in(memory.allocate(64 * 8, 0)), out(memory.allocate(64 * 8, 0)) {}

  void give(int place, uint64_t value) {
    Place to = memory.at(in + unsigned(place) * 8, 8, "gives");
    std::memcpy(to.bytes, &value, 8);
    std::memset(to.marks, 1, 8);
  }
  uint64_t result(int place) {
    uint64_t value;
    Place from = memory.at(out + unsigned(place) * 8, 8, "takes");
    std::memcpy(&value, from.bytes, 8);
    return value;
  }
  void run(unsigned threads = 1, unsigned seed = 0, int64_t shared = 1024,
           unsigned blocks = 1) {
    ptx::Launch launch = {&module.kernels.at("k"),
                          {blocks, 1, 1},
                          {threads, 1, 1},
                          shared,
                          {in, out}};
    std::mt19937 random(seed);
    ptx::BlockRunner(launch, memory, counters).run(random);
  }
  std::string refusal(unsigned threads = 1, unsigned blocks = 1) {
    try {
      run(threads, 0, 1024, blocks);
    } catch (const Violation &error) {
      return error.what();
    }
    return "";
  }

  ptx::Counters counters;

private:
  Memory memory;
  ptx::Module module;
  uint64_t in, out;
};

} // namespace emulator

#endif // STAGEWRIGHT_UNIT_EMULATOR_MACHINE_H
