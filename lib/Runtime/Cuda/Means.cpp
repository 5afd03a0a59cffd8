//===- Means.cpp - folds divisions of means into sums ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Means.h"

#include "Commands.h"
#include "Spans.h"

#include <algorithm>
#include <optional>
#include <utility>

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
  /// A bit of the last argument of a kernel.
  struct Bit {
    size_t command;
    size_t number; ///< of `sums` and `adds`
  };
  /// A range that contains exactly the sum of these products and of what these
  /// kernels have added, or zeros; or what `last` has stored, of all of it.
  struct Sum {
    int64_t bytes;
    std::vector<int64_t> products;
    std::vector<Bit> adds;
    std::optional<Bit> last;
  };

  void look(size_t number) {
    const Command &command = program.commands[number];
    if (command.kind == Command::Contract)
      return add(command.id);
    if (command.kind == Command::Launch)
      return launch(number, command, kernels[size_t(command.id)]);
    if (command.mayTouchAny())
      return sums.clear();
    for (const Extent &use : usesOf(program, kernels, command))
      sums.forget(use.address, use.bytes);
    if (command.kind == Command::Fill && command.from == 0)
      sums.insert(command.to, {command.bytes, {}, {}, {}});
  }

  void launch(size_t number, const Command &command, const Kernel &kernel) {
    if (kernel.mean && divide(command, kernel)) {
      removed[number] = true;
      return;
    }
    const uint64_t *values = program.values.data() + command.to;
    // A kernel that stands in for a library call may not run.
    bool runs = command.instead < 0;
    std::vector<std::pair<Address, Sum>> made;
    for (size_t i = 0; runs && i < kernel.sums.size(); ++i) {
      auto argument = size_t(kernel.sums[i]);
      made.push_back(
          {values[argument], {kernel.bytes[argument], {}, {}, Bit{number, i}}});
    }
    for (size_t i = 0; runs && i < kernel.adds.size(); ++i) {
      auto argument = size_t(kernel.adds[i]);
      Sum *sum = sums.find(values[argument]);
      if (!sum || sum->last || sum->bytes != kernel.bytes[argument])
        continue;
      made.push_back({values[argument], *sum});
      made.back().second.adds.push_back({number, kernel.sums.size() + i});
    }
    for (const Extent &use : usesOf(program, kernels, command))
      sums.forget(use.address, use.bytes);
    for (auto &[address, sum] : made)
      sums.insert(address, std::move(sum));
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
      return sums.insert(it.c, {bytes, {number}, {}, {}});
    if (isPlain && sum && !sum->last && sum->bytes == bytes)
      return sum->products.push_back(number);
    sums.forget(it.c, 1);
  }

  /// Lets others do all divisions of `command`; returns whether they can.
  bool divide(const Command &command, const Kernel &kernel) {
    const uint64_t *values = program.values.data() + command.to;
    // The bits of its own sums, if any, follow the count.
    int64_t last = command.bytes - (kernel.sums.empty() ? 1 : 2);
    uint64_t count = values[last];
    if (command.instead >= 0 || count >> (64 - SW_SUMS_COUNT))
      return false;
    for (int64_t i = 0; i < last; ++i) {
      const Sum *sum = sums.find(values[i]);
      if (!sum || sum->bytes != kernel.bytes[size_t(i)] ||
          (sum->products.empty() && sum->adds.empty() && !sum->last) ||
          (sum->last && !fits(*sum->last, count)) ||
          !std::all_of(sum->adds.begin(), sum->adds.end(),
                       [&](Bit bit) { return fits(bit, count); }))
        return false;
    }
    for (int64_t i = 0; i < last; ++i) {
      const Sum &sum = *sums.find(values[i]);
      for (int64_t product : sum.products)
        program.contractions[size_t(product)].alpha /= double(count);
      for (Bit bit : sum.adds)
        set(bit, count);
      if (sum.last)
        set(*sum.last, count);
      sums.forget(values[i], 1);
    }
    return true;
  }

  uint64_t &argumentOf(Bit bit) {
    const Command &command = program.commands[bit.command];
    return program.values[size_t(command.to) + size_t(command.bytes) - 1];
  }
  /// A kernel has one number for all of its sums.
  bool fits(Bit bit, uint64_t count) {
    uint64_t set = argumentOf(bit) >> SW_SUMS_COUNT;
    return set == 0 || set == count;
  }
  void set(Bit bit, uint64_t count) {
    argumentOf(bit) |=
        uint64_t(1) << (SW_SUMS_DIVIDE + bit.number) | count << SW_SUMS_COUNT;
  }

  RankProgram &program;
  const std::vector<Kernel> &kernels;
  Spans<Sum> sums;
  std::vector<bool> removed; ///< by command
};

} // namespace

int64_t foldMeans(RankProgram &program, const std::vector<Kernel> &kernels) {
  return Means(program, kernels).run();
}

} // namespace stagewright::runtime::cuda
