//===- Averaging.cpp - delayed averages over replicas ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Averaging.h"

#include "DType.h"
#include "Sum.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>

namespace stagewright::runtime {

namespace {

/// The memory of one average on its rank.
class Average {
public:
  Average(sw_rank &rank, const Averaging &rule) : rank(rank), rule(rule) {}

  int64_t countStep() {
    int64_t step = 0;
    std::memcpy(&step, at(rule.step), sizeof(step));
    ++step;
    std::memcpy(at(rule.step), &step, sizeof(step));
    return step;
  }

  void begin() {
    visit([&](std::byte *parameter, int64_t from, int64_t bytes) {
      Term weighted[] = {{rule.weight, parameter}};
      weightedSum(rule.dtype, at(rule.sum) + from, weighted, elements(bytes));
      if (rule.snapshot >= 0)
        std::memcpy(at(rule.snapshot) + from, parameter, size_t(bytes));
    });
    rank.transport->allReduce(rank.index, rule.collective);
  }

  void merge() {
    int64_t start = rank.recorder ? now() : 0;
    rank.transport->awaitReduced(rank.index, rule.collective);
    if (rank.recorder) { // Only the time in which the rank waits for it.
      rank.recorder->sumBegun(rule.collective, start);
      rank.recorder->summed(rule.collective);
    }
    visit([&](std::byte *parameter, int64_t from, int64_t bytes) {
      std::byte *snapshot =
          rule.snapshot >= 0 ? at(rule.snapshot) + from : nullptr;
      weightedSum(
          rule.dtype, parameter,
          mergeTerms<Term>(rule, parameter, at(rule.sum) + from, snapshot),
          elements(bytes));
    });
  }

private:
  std::byte *at(int64_t buffer) const {
    return rank.arena + rank.layout->buffers[size_t(buffer)].offset;
  }
  int64_t elements(int64_t bytes) const {
    return bytes / dtypeSize(rule.dtype);
  }

  /// Calls `visit` for each parameter with its address, its offset in the sum
  /// and its bytes.
  template <typename Visit> void visit(Visit visit) {
    forParameters(*rank.described, rule,
                  [&](int64_t parameter, int64_t from, int64_t bytes) {
                    visit(at(parameter), from, bytes);
                    rank.transport->progress();
                  });
  }

  sw_rank &rank;
  const Averaging &rule;
};

} // namespace

void average(sw_rank &rank, int64_t number) {
  if (number < 0 || size_t(number) >= rank.described->averages.size())
    raise("average ", number, " of rank ", rank.index, " does not exist");
  const Averaging &rule = rank.described->averages[size_t(number)];
  Average own(rank, rule);
  int64_t step = own.countStep();
  applyRule(rule, step, [&] { own.begin(); }, [&] { own.merge(); });
}

void restartRounds(const HostArenas &arenas) {
  for (size_t r = 0; r < arenas.bases.size(); ++r)
    if (arenas.bases[r])
      for (const Averaging &rule : arenas.manifest.ranks[r].averages)
        std::memset(arenas.bases[r] +
                        arenas.layouts[r].buffers[size_t(rule.step)].offset,
                    0, sizeof(int64_t));
}

int64_t maxStepsBehind(const Manifest &manifest) {
  int64_t steps = 0;
  for (const RankManifest &rank : manifest.ranks)
    for (const Averaging &rule : rank.averages)
      steps = std::max(steps, rule.every + rule.delay - 1);
  return steps;
}

void requireTurns(const Manifest &manifest, int64_t microbatches) {
  for (const RankManifest &rank : manifest.ranks)
    for (const Averaging &rule : rank.averages)
      if (microbatches < rule.turns)
        raise("the number of microbatches is ", microbatches, ", but ",
              rule.turns,
              " replicas take them in turn, and each trains its "
              "own parameters; give at least ",
              rule.turns);
}

} // namespace stagewright::runtime
