//===- Verify.cpp - proof that a schedule finishes ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Verify.h"
#include "stagewright/Scheduling/Dependences.h"

namespace stagewright {

/// Where each rank stands when nothing can run any more.
static std::vector<size_t> standstill(const Dependences &dependences,
                                      const std::vector<size_t> &ran) {
  std::vector<size_t> next;
  next.reserve(dependences.numRanks());
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank)
    next.push_back(dependences.begin(rank));
  for (size_t number : ran)
    ++next[dependences.rank(number)];
  return next;
}

/// The first thing that action `number` waits for and that has not run: its
/// number is not before where its rank stands.
static const Dependence *pending(const Dependences &dependences, size_t number,
                                 const std::vector<size_t> &next) {
  for (const Dependence &wait : dependences.of(number))
    if (wait.on >= next[dependences.rank(wait.on)])
      return &wait;
  return nullptr;
}

/// "rank 1 waits for 2B0 from rank 2".
static std::string describe(const Dependences &dependences, int64_t rank,
                            const Dependence &wait) {
  std::string text = "rank " + std::to_string(rank) + " waits for ";
  if (wait.slot)
    text += "a slot that ";
  text += toString(dependences.action(wait.on));
  text += wait.slot ? " frees on rank " : " from rank ";
  return text + std::to_string(dependences.rank(wait.on));
}

/// Follows waits from rank to rank until one comes twice, and names that cycle.
static Error describeCycle(const Dependences &dependences,
                           const std::vector<size_t> &next) {
  int64_t ranks = dependences.numRanks();
  int64_t rank = 0;
  while (next[rank] == dependences.begin(rank + 1))
    ++rank;
  std::vector<std::string> chain;
  std::vector<int64_t> seenAt(ranks, -1);
  while (seenAt[rank] < 0) {
    seenAt[rank] = static_cast<int64_t>(chain.size());
    const Dependence *wait = pending(dependences, next[rank], next);
    int64_t other = dependences.rank(wait->on);
    if (other == rank)
      return Error{"rank " + std::to_string(rank) + " runs " +
                   toString(dependences.action(next[rank])) + " before " +
                   toString(dependences.action(wait->on)) +
                   ", which it waits for"};
    chain.push_back(describe(dependences, rank, *wait));
    rank = other;
  }
  std::string message = "schedule deadlocks: ";
  for (size_t i = seenAt[rank]; i < chain.size(); ++i)
    message += (i == size_t(seenAt[rank]) ? "" : ", ") + chain[i];
  return Error{message};
}

Status verify(const Schedule &schedule, const StageGraph &graph) {
  Result<Dependences> dependences = Dependences::create(schedule, graph);
  if (!dependences)
    return dependences.error();
  std::vector<size_t> ran = dependences->executionOrder();
  if (ran.size() == dependences->size())
    return {};
  return describeCycle(*dependences, standstill(*dependences, ran));
}

} // namespace stagewright
