//===- Means.cpp - folds divisions of means into products -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Means.h"

#include "Commands.h"
#include "Spans.h"

#include <algorithm>

namespace stagewright::runtime::cuda {

namespace {

class Means {
public:
  Means(RankProgram &program, const std::vector<Kernel> &kernels)
      : program(program), kernels(kernels) {}

  int64_t run() {
    removed.assign(program.commands.size(), false);
    for (size_t i = 0; i < program.commands.size(); ++i)
      look(i);
    removeCommands(program, removed);
    return std::count(removed.begin(), removed.end(), true);
  }

private:
  /// A range that contains exactly the sum of these products, or zeros.
  struct Sum {
    int64_t bytes;
    std::vector<int64_t> products;
  };

  void look(size_t number) {
    const Command &command = program.commands[number];
    if (command.kind == Command::Contract)
      return add(command.id);
    if (command.kind == Command::Launch && divides(command)) {
      removed[number] = true;
      return;
    }
    if (command.mayTouchAny())
      return sums.clear();
    for (const Extent &use : usesOf(program, kernels, command))
      sums.forget(use.address, use.bytes);
    if (command.kind == Command::Fill && command.from == 0)
      sums.insert(command.to, {command.bytes, {}});
  }

  void add(int64_t number) {
    const Contraction &it = program.contractions[size_t(number)];
    const sw_gemm_desc &gemm = it.desc.gemm;
    for (Address address : {it.a, it.b, it.bias, it.aux})
      sums.forget(address, 1);
    Sum *sum = sums.find(it.c);
    int64_t bytes = bytesOfWhole(gemm);
    bool isPlain = it.desc.epilogue == SW_EPILOGUE_NONE && !it.desc.otherwise;
    if (isPlain && bytes > 0 && gemm.beta == 0)
      return sums.insert(it.c, {bytes, {number}});
    if (isPlain && sum && sum->bytes == bytes)
      return sum->products.push_back(number);
    sums.forget(it.c, 1);
  }

  /// Scales products so that they do the division of `command`; returns whether
  /// that is possible.
  bool divides(const Command &command) {
    const Kernel &kernel = kernels[size_t(command.id)];
    const uint64_t *values = program.values.data() + command.to;
    if (!kernel.mean || command.instead >= 0)
      return false;
    Sum *sum = sums.find(values[0]);
    if (!sum || sum->products.empty() || sum->bytes != kernel.bytes[0])
      return false;
    for (int64_t product : sum->products)
      program.contractions[size_t(product)].alpha /= double(values[1]);
    sums.forget(values[0], 1);
    return true;
  }

  RankProgram &program;
  const std::vector<Kernel> &kernels;
  Spans<Sum> sums;
  std::vector<bool> removed; ///< by command
};

} // namespace

int64_t scaleProductsOfMeans(RankProgram &program,
                             const std::vector<Kernel> &kernels) {
  return Means(program, kernels).run();
}

} // namespace stagewright::runtime::cuda
