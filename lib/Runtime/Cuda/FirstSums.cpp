//===- FirstSums.cpp - removes zero fills before sums ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FirstSums.h"

#include "Commands.h"
#include "Spans.h"

#include <algorithm>

namespace stagewright::runtime::cuda {

namespace {

class Pending {
public:
  Pending(RankProgram &program, const std::vector<Kernel> &kernels)
      : program(program), kernels(kernels) {}

  int64_t run() {
    std::vector<Command> &commands = program.commands;
    removed.assign(commands.size(), false);
    for (size_t i = 0; i < commands.size(); ++i)
      look(i);
    removeCommands(program, removed);
    return count;
  }

private:
  struct Fill {
    int64_t bytes;
    size_t number; ///< of its command
  };

  void look(size_t number) {
    const Command &command = program.commands[number];
    if (command.kind == Command::Contract)
      return product(program.contractions[size_t(command.id)]);
    if (command.kind == Command::Launch)
      return launch(command, kernels[size_t(command.id)]);
    if (command.mayTouchAny())
      return fills.clear();
    for (const Extent &use : usesOf(program, kernels, command))
      fills.forget(use.address, use.bytes);
    if (command.kind == Command::Fill && command.from == 0)
      fills.insert(command.to, {command.bytes, number});
  }

  void product(Contraction &it) {
    for (Address address : {it.a, it.b, it.bias, it.aux})
      fills.forget(address, 1);
    Fill *fill = fills.find(it.c);
    if (fill && it.desc.gemm.beta != 0 && !it.desc.otherwise &&
        bytesOfWhole(it.desc.gemm) == fill->bytes) {
      it.desc.gemm.beta = 0;
      removed[fill->number] = true;
      ++count;
    }
    fills.forget(it.c, 1);
  }

  void launch(const Command &command, const Kernel &kernel) {
    uint64_t *values = program.values.data() + command.to;
    // A fallback for a library call runs only if the library has no algorithm.
    bool runs = command.instead < 0;
    auto isSum = [&](int64_t argument) {
      const auto &sums = kernel.sums;
      return std::find(sums.begin(), sums.end(), argument) != sums.end();
    };
    for (int64_t i = 0; i < command.bytes; ++i)
      if (!runs || !isSum(i))
        fills.forget(values[i],
                     kernel.bytes.empty() ? 1 : kernel.bytes[size_t(i)]);
    for (size_t bit = 0; runs && bit < kernel.sums.size(); ++bit) {
      auto argument = size_t(kernel.sums[bit]);
      Fill *fill = fills.find(values[argument]);
      if (fill && fill->bytes == kernel.bytes[argument]) {
        values[command.bytes - 1] |= uint64_t(1) << bit;
        removed[fill->number] = true;
        ++count;
      }
      fills.forget(values[argument], kernel.bytes[argument]);
    }
  }

  RankProgram &program;
  const std::vector<Kernel> &kernels;
  Spans<Fill> fills;         ///< not used by any command so far
  std::vector<bool> removed; ///< by command
  int64_t count = 0;
};

} // namespace

int64_t overwriteFirstSums(RankProgram &program,
                           const std::vector<Kernel> &kernels) {
  return Pending(program, kernels).run();
}

int64_t unreadBytes(const Kernel &kernel, uint64_t zeros) {
  int64_t bytes = 0;
  for (size_t bit = 0; bit < kernel.sums.size(); ++bit)
    if (zeros >> bit & 1)
      bytes += kernel.bytes[size_t(kernel.sums[bit])];
  return bytes;
}

} // namespace stagewright::runtime::cuda
