//===- FirstSums.cpp - sums that need no zero to begin with ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FirstSums.h"

#include "DType.h"
#include "Extents.h"

#include <algorithm>
#include <map>

namespace stagewright::runtime::cuda {

namespace {

/// Whether the result is one block without holes, of so many bytes.
bool isWhole(const sw_gemm_desc &it, int64_t bytes) {
  // Distances and extents, from the smallest distance on.
  std::multimap<int64_t, int64_t> dimensions;
  int64_t elements = 1;
  for (auto [extent, distance] :
       {std::pair(it.m, it.c_row), std::pair(it.n, it.c_col),
        std::pair(it.batch[0], it.c_batch[0]),
        std::pair(it.batch[1], it.c_batch[1])})
    if (extent > 1)
      dimensions.emplace(distance, extent);
  for (auto [distance, extent] : dimensions) {
    if (distance != elements)
      return false;
    elements *= extent;
  }
  return elements * dtypeSize(it.dtype) == bytes;
}

class Pending {
public:
  Pending(RankProgram &program, const std::vector<Kernel> &kernels)
      : program(program), kernels(kernels) {}

  int64_t run() {
    std::vector<Command> &commands = program.commands;
    removed.assign(commands.size(), false);
    for (size_t i = 0; i < commands.size(); ++i)
      look(i);
    if (count == 0)
      return 0;
    // Kernels that stand in for a call name its place.
    std::vector<int64_t> places(commands.size());
    size_t kept = 0;
    for (size_t i = 0; i < commands.size(); ++i) {
      places[i] = int64_t(kept);
      if (removed[i])
        continue;
      Command command = commands[i];
      if (command.instead >= 0)
        command.instead = places[size_t(command.instead)];
      commands[kept++] = command;
    }
    commands.resize(kept);
    return count;
  }

private:
  struct Fill {
    int64_t bytes;
    size_t number; ///< of its command
  };

  void look(size_t number) {
    const Command &command = program.commands[number];
    switch (command.kind) {
    case Command::Fill:
      use(command.to, command.bytes);
      if (command.from == 0)
        fills[command.to] = {command.bytes, number};
      return;
    case Command::Contract:
      return product(program.contractions[size_t(command.id)]);
    case Command::Launch:
      return launch(command, kernels[size_t(command.id)]);
    case Command::Copy:
      use(command.to, command.bytes);
      return use(command.from, command.bytes);
    case Command::Attend:
      for (const Extent &it : extentsOf(program.attentions[size_t(command.id)]))
        use(it.address, it.bytes);
      return;
    case Command::Convolve:
      for (const Extent &it :
           extentsOf(program.convolutions[size_t(command.id)]))
        use(it.address, it.bytes);
      return;
    case Command::Claim:
    case Command::Acquire:
      return use(command.to, 1);
    case Command::Offload:
      return use(command.from, command.bytes);
    case Command::Fetch:
      return use(command.to, command.bytes);
    case Command::Reduce: // A bucket may have any of them.
    case Command::Await:
      return fills.clear();
    default: // The others name what was claimed or acquired.
      return;
    }
  }

  void product(Contraction &it) {
    for (Address address : {it.a, it.b, it.bias, it.aux})
      use(address, 1);
    auto found = fills.find(it.c);
    bool overwrites = found != fills.end() && it.desc.gemm.beta != 0 &&
                      !it.desc.otherwise &&
                      isWhole(it.desc.gemm, found->second.bytes);
    if (!overwrites)
      return use(it.c, 1);
    it.desc.gemm.beta = 0;
    removed[found->second.number] = true;
    fills.erase(found);
    ++count;
  }

  void launch(const Command &command, const Kernel &kernel) {
    uint64_t *values = program.values.data() + command.to;
    // A kernel behind a call of the library may not run.
    bool runs = command.instead < 0;
    auto isSum = [&](int64_t argument) {
      const auto &sums = kernel.sums;
      return std::find(sums.begin(), sums.end(), argument) != sums.end();
    };
    for (int64_t i = 0; i < command.bytes; ++i)
      if (!runs || !isSum(i))
        use(values[i], kernel.bytes.empty() ? 1 : kernel.bytes[size_t(i)]);
    for (size_t bit = 0; runs && bit < kernel.sums.size(); ++bit) {
      auto argument = size_t(kernel.sums[bit]);
      auto found = fills.find(values[argument]);
      if (found == fills.end() ||
          found->second.bytes != kernel.bytes[argument]) {
        use(values[argument], kernel.bytes[argument]);
        continue;
      }
      values[command.bytes - 1] |= uint64_t(1) << bit;
      removed[found->second.number] = true;
      fills.erase(found);
      ++count;
    }
  }

  /// What is used otherwise keeps its fill.
  void use(Address address, int64_t bytes) {
    if (bytes == 0) // A number.
      return;
    auto next = fills.lower_bound(address + Address(bytes));
    while (next != fills.begin()) {
      auto it = std::prev(next);
      if (it->first + Address(it->second.bytes) <= address)
        return; // Fills do not overlap.
      next = fills.erase(it);
    }
  }

  RankProgram &program;
  const std::vector<Kernel> &kernels;
  std::map<Address, Fill> fills; ///< that nothing has used yet
  std::vector<bool> removed;     ///< by command
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
