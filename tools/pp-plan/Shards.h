//===- Shards.h - plans of layers that are split ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_SHARDS_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_SHARDS_H

#include "Input.h"

#include "stagewright/Planning/Baselines/Uniform.h"
#include "stagewright/Planning/Search.h"

#include <functional>
#include <optional>

namespace stagewright {

/// A problem and its plan.
struct Planned {
  Problem problem;
  Plan plan;
  std::vector<UniformPlan> uniform;
  std::vector<SearchOutcome> searches = {};
};

/// Layers that have been read, all whole or over one number of shards.
struct ReadLayers {
  /// No plan of them takes less; infinite only if there is none.
  Seconds bound;
  /// Called once, with the time of another plan, or infinity. Returns a plan,
  /// or none if it found no plan faster than that time and left out plans that
  /// cannot be faster.
  std::function<Result<std::optional<Planned>>(Seconds)> plan;
  /// The error of `plan` in full, if that takes long to make.
  std::function<Error()> why = {};
};

/// Plans `layers` without a limit on the time of the plan.
Result<Planned> planAlone(const ReadLayers &layers);

/// The best plan of a module whose layers are split as --tensor-parallel asks
/// for, with a bound on all such plans. `readWhole` reads whole layers and
/// writes diagnostics of the module to the stream; `fixed` is the plan of
/// --plan, of gangs, or empty.
Result<Planned> planShards(
    const PlanOptions &options, size_t file, const std::string &fixed,
    const std::function<Result<ReadLayers>(llvm::raw_ostream &)> &readWhole);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_SHARDS_H
