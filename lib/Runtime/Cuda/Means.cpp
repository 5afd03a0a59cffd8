//===- Means.cpp - folds divisions of means into sums ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Means.h"

#include "Commands.h"
#include "DType.h"
#include "Spans.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace stagewright::runtime::cuda {

namespace {

/// The divisions of one rank.
class Means {
public:
  /// A bit of the last argument of a kernel.
  struct Bit {
    size_t command;
    size_t number; ///< in Kernel::sums followed by Kernel::adds
  };
  /// A range of the bucket of a collective that sums over ranks: `bytes` bytes
  /// from `offset`. `count`: the number by which the ranks divide its total.
  struct Part {
    int64_t collective, offset, bytes;
    uint64_t count = 0;

    auto operator<=>(const Part &) const = default;
  };
  /// A range of memory with a known value: if `last` is set, what that kernel
  /// has stored in the whole range; else the sum of these products and of what
  /// these kernels have added, or zeros if there are none.
  struct Sum {
    int64_t bytes;
    std::vector<int64_t> products;
    std::vector<Bit> adds;
    std::optional<Bit> last;
    std::optional<Part> part = {}; ///< if ranks have summed it since
  };
  /// A kernel that only divides these sums; the commands that make them can
  /// divide instead.
  struct Division {
    size_t command;
    uint64_t count;
    std::vector<Sum> sums;
  };

  Means(RankProgram &program, const Manifest &manifest, const Memory &memory,
        int64_t rank)
      : program(program), manifest(manifest), memory(memory), rank(rank),
        kernels(manifest.kernels), removed(program.commands.size()) {
    for (size_t i = 0; i < program.commands.size(); ++i)
      look(i);
  }

  /// Divisions of totals over ranks. All other divisions are already replaced.
  std::vector<Division> late;

  void replace(const Division &division) {
    for (const Sum &sum : division.sums) {
      for (int64_t product : sum.products)
        program.contractions[size_t(product)].alpha /= double(division.count);
      for (Bit bit : sum.adds)
        set(bit);
      if (sum.last)
        set(*sum.last);
    }
    removed[division.command] = true;
  }

  /// Removes what was replaced; returns the number of commands.
  int64_t finish() {
    removeCommands(program, removed);
    return std::count(removed.begin(), removed.end(), true);
  }

private:
  void look(size_t number) {
    const Command &command = program.commands[number];
    if (command.kind == Command::Contract)
      return add(command.id);
    if (command.kind == Command::Launch)
      return launch(number, command, kernels[size_t(command.id)]);
    if (command.kind == Command::Reduce &&
        !manifest.collective(command.id).gathers)
      return reduce(command.id);
    for (const Extent &use : usesOf(program, kernels, command))
      sums.forget(use.address, use.bytes);
    if (command.kind == Command::Fill && command.from == 0)
      sums.insert(command.to, {command.bytes, {}, {}, {}});
  }

  void launch(size_t number, const Command &command, const Kernel &kernel) {
    if (kernel.mean && divide(number, command, kernel))
      return;
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
      if (!sum || sum->last || sum->part ||
          sum->bytes != kernel.bytes[argument])
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
    if (isPlain && sum && !sum->last && !sum->part && sum->bytes == bytes)
      return sum->products.push_back(number);
    sums.forget(it.c, 1);
  }

  /// Handles a sum over ranks: known sums in this rank's bucket become parts of
  /// it.
  void reduce(int64_t id) {
    const Collective &collective = manifest.collective(id);
    Address begin = memory.bucket(manifest, id, rank);
    int64_t bytes = collective.elements * dtypeSize(collective.dtype);
    sums.change(begin, bytes, [&](Address address, Sum &sum) {
      auto offset = int64_t(address - begin);
      bool isInside = address >= begin && offset + sum.bytes <= bytes;
      if (!isInside || sum.part)
        return false;
      sum.part = Part{id, offset, sum.bytes};
      return true;
    });
  }

  /// Lets other commands do all divisions of `command`; returns whether they
  /// can. A division of totals over ranks is added to `late`.
  bool divide(size_t number, const Command &command, const Kernel &kernel) {
    const uint64_t *values = program.values.data() + command.to;
    // The count is the kernel's first argument that is not an address. The bits
    // of its own sums, if any, follow.
    const std::vector<int64_t> &bytes = kernel.bytes;
    uint64_t count =
        values[std::find(bytes.begin(), bytes.end(), 0) - bytes.begin()];
    if (command.instead >= 0 || count >> (64 - SW_SUMS_COUNT))
      return false;
    Division division = {number, count, {}};
    bool isLate = false;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == 0)
        continue;
      const Sum *sum = sums.find(values[i]);
      if (!sum || sum->bytes != bytes[i] ||
          (sum->products.empty() && sum->adds.empty() && !sum->last &&
           !sum->part) ||
          (sum->last && !fits(*sum->last, count)) ||
          !std::all_of(sum->adds.begin(), sum->adds.end(),
                       [&](Bit bit) { return fits(bit, count); }))
        return false;
      division.sums.push_back(*sum);
      if (sum->part)
        division.sums.back().part->count = count;
      isLate |= sum->part.has_value();
    }
    for (const Sum &sum : division.sums) {
      for (Bit bit : sum.adds)
        reserve(bit, count);
      if (sum.last)
        reserve(*sum.last, count);
    }
    for (size_t i = 0; i < bytes.size(); ++i)
      sums.forget(values[i], bytes[i]);
    if (isLate)
      late.push_back(std::move(division));
    else
      replace(division);
    return true;
  }

  uint64_t &argumentOf(Bit bit) {
    const Command &command = program.commands[bit.command];
    return program.values[size_t(command.to) + size_t(command.bytes) - 1];
  }
  /// A kernel divides all of its sums by one number.
  bool fits(Bit bit, uint64_t count) {
    uint64_t set = argumentOf(bit) >> SW_SUMS_COUNT;
    return set == 0 || set == count;
  }
  void reserve(Bit bit, uint64_t count) {
    argumentOf(bit) |= count << SW_SUMS_COUNT;
  }
  void set(Bit bit) {
    argumentOf(bit) |= uint64_t(1) << (SW_SUMS_DIVIDE + bit.number);
  }

  RankProgram &program;
  const Manifest &manifest;
  const Memory &memory;
  int64_t rank;
  const std::vector<Kernel> &kernels;
  Spans<Sum> sums;
  std::vector<bool> removed; ///< by command
};

/// Removes divisions of totals that some rank cannot do before the sum. In
/// those that remain, all ranks of a collective divide each part.
void requireAllRanks(std::vector<Means> &ranks, const Manifest &manifest) {
  for (bool changed = true; changed;) {
    changed = false;
    std::map<Means::Part, size_t> dividing;
    for (Means &rank : ranks)
      for (const Means::Division &division : rank.late)
        for (const Means::Sum &sum : division.sums)
          if (sum.part)
            ++dividing[*sum.part];
    for (Means &rank : ranks)
      changed |=
          0 < std::erase_if(rank.late, [&](const Means::Division &it) {
            return std::any_of(
                it.sums.begin(), it.sums.end(), [&](const Means::Sum &sum) {
                  return sum.part &&
                         dividing[*sum.part] !=
                             manifest.collective(sum.part->collective)
                                 .buckets.size();
                });
          });
  }
}

} // namespace

int64_t foldMeans(std::vector<RankProgram> &programs, const Manifest &manifest,
                  const Memory &memory) {
  std::vector<Means> ranks;
  for (size_t i = 0; i < programs.size(); ++i)
    ranks.emplace_back(programs[i], manifest, memory, int64_t(i));
  requireAllRanks(ranks, manifest);
  int64_t folded = 0;
  for (Means &rank : ranks) {
    for (const Means::Division &division : rank.late)
      rank.replace(division);
    folded += rank.finish();
  }
  return folded;
}

} // namespace stagewright::runtime::cuda
