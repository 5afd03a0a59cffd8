//===- Averaging.h - delayed averages over replicas -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replicas that update their own parameters and average them every `every`
// steps. A replica begins an average by writing its weighted parameters to a
// buffer, which a sum over the replicas then turns into the average while the
// next steps run. `delay` steps later it merges the average into the parameters
// that it has by then. Source of the rule: Zhou et al., "DaSGD: Squeezing SGD
// Parallelization Performance in Distributed Training Using Delayed Averaging"
// (2020).
//
// What is carried from step to step (the count of steps, the average, the
// snapshot) is in buffers that the host reads and sets like an optimizer's
// state. Whether a sum is still running is not part of that state: before the
// host reads an average, its sum is completed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_AVERAGING_H
#define STAGEWRIGHT_LIB_RUNTIME_AVERAGING_H

#include "Memory/HostTensors.h"
#include "Rank.h"

namespace stagewright::runtime {

/// Calls `begin` and `merge` as `rule` requires at the end of step `step`,
/// which counts from 1.
template <typename Begin, typename Merge>
void applyRule(const Averaging &rule, int64_t step, Begin begin, Merge merge) {
  bool merges = rule.mergesAt(step);
  if (merges && rule.delay > 0)
    merge();
  if (rule.beginsAt(step))
    begin();
  if (merges && rule.delay == 0)
    merge();
}

/// The terms whose sum is the parameter after a merge. Each has a weight and
/// the address of the parameter, its average or its snapshot.
template <typename Term, typename Place>
std::vector<Term> mergeTerms(const Averaging &rule, Place parameter,
                             Place average, Place snapshot) {
  using Weight = decltype(Term::weight);
  if (rule.snapshot >= 0)
    return {{1, average}, {-1, snapshot}, {1, parameter}};
  if (rule.corrected)
    return {{1, average}};
  return {{Weight(rule.xi), parameter}, {Weight(1 - rule.xi), average}};
}

/// Calls `visit` for each parameter of `rule` with its buffer, its offset in
/// the sum and its bytes.
template <typename Visit>
void forParameters(const RankManifest &rank, const Averaging &rule,
                   Visit visit) {
  int64_t from = 0;
  for (int64_t parameter : rule.parameters) {
    int64_t bytes = rank.buffers[size_t(parameter)].bytes;
    visit(parameter, from, bytes);
    from += (bytes + alignment - 1) / alignment * alignment;
  }
}

/// Does what average `number` of the rank requires at the end of a step: begins
/// it, merges it, or nothing.
void average(sw_rank &rank, int64_t number);

/// Begins a new round on all ranks of `arenas`: no step of it is done and no
/// average begun.
void restartRounds(const HostArenas &arenas);

/// Max number of steps that a replica can be behind another, which waits for it
/// in averages; 0 without averages.
int64_t maxStepsBehind(const Manifest &manifest);

/// Throws if a replica would have no microbatch of a step.
void requireTurns(const Manifest &manifest, int64_t microbatches);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_AVERAGING_H
