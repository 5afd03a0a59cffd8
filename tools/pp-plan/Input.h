//===- Input.h - reads the inputs of pp-plan --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H

#include "Options.h"

#include "stagewright/Planning/GangProblem.h"

namespace stagewright {

/// Guesses the name of the format of `text` from its first characters and from
/// its file name.
Result<std::string> guessFormat(const std::string &text,
                                const std::string &file);

/// The problem to plan.
struct Input {
  Problem problem;
  bool isModule = false;             ///< Else it is a profile.
  std::optional<GangProblems> gangs; ///< Of layers that are split.
};

/// Reads input `file`, counted from 0, and sets its cluster to that of the
/// options, if given. Errors in a module have already been printed at their
/// places; the returned error only says that there were some.
///
/// `halves`: whether backwards of a module are split into I and W for any
/// schedule. `ways`: over how many shards its layers are split.
Result<Input> readInput(const PlanOptions &options, size_t file,
                        bool halves = false, int64_t ways = 1);

/// The number of shards that annotations of input `file` ask for; 1 if they ask
/// for none. Errors as for readInput().
Result<int64_t> annotatedShards(const PlanOptions &options, size_t file);

/// The text of --explain-layouts for input `file`, which must be a step. Errors
/// as for readInput().
Result<std::string> explainLayouts(const PlanOptions &options, size_t file);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H
