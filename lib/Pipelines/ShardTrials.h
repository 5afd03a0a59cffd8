//===- ShardTrials.h - trying plans of shards -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planner of gangs only estimates the time and the memory of a plan. So its
// plans are tried as programs, the one that it expects to be the fastest
// first. A pipeline that does not fit in memory after all is planned again for
// devices with less memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_SHARDTRIALS_H
#define STAGEWRIGHT_LIB_PIPELINES_SHARDTRIALS_H

#include "ShardPlans.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stagewright {

/// A pipeline without enough memory is planned again for devices with a bit
/// less memory than the planner of gangs counted for it, and at least
/// kLessMemory percent less than before. This step doubles with every further
/// plan; planning ends when the memory would be more than kMostLess percent
/// less than the whole.
inline constexpr double kLessMemory = 1, kMostLess = 20;

/// A plan to try.
struct ShardTrial {
  ShardPlan plan;
  size_t form = 0; ///< Number of the graph that it is a plan of.
  double less = 0; ///< Percent of the memory that it was planned without.
  /// The next plan is made without at least this many more percent.
  double step = kLessMemory;
};

enum class TrialOutcome { Planned, NoMemory, Failed };

/// How plans are tried.
struct TrialCalls {
  /// Whether a plan is not worth a trial.
  llvm::function_ref<bool(const ShardTrial &)> isSlow;
  /// Tries a plan. NoMemory: with more memory it would be a program.
  llvm::function_ref<TrialOutcome(const ShardTrial &)> attempt;
  /// Plans of a form for devices with `less` percent less memory, with the
  /// shares of the whole memory that they need; empty if there are none.
  llvm::function_ref<std::vector<ShardPlan>(size_t form, double less)> plan;
};

/// Tries `trials` and, for each pipeline that lacks memory, a plan for less
/// memory that has not been among the trials of its form. A plan without a
/// pipeline is the only one of its kind, so it is not planned again.
void tryInOrder(std::vector<ShardTrial> trials, const TrialCalls &calls);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDTRIALS_H
