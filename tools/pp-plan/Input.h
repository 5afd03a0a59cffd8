//===- Input.h - reads the inputs of pp-plan --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H

#include "PlanOptions.h"

#include "stagewright/Planning/GangProblem.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace stagewright {

/// Guesses the name of the format of `text` from its content and its file name.
Result<std::string> guessFormat(const std::string &text,
                                const std::string &file);

/// The problem to plan.
struct Input {
  Problem problem;
  bool isModule = false;             ///< Else it is a profile.
  std::optional<GangProblems> gangs; ///< Of layers that are split.
};

/// Reads an input in two forms. Layers of a module are formed once for both.
class InputReader {
public:
  /// `file`: number of the input, from 0. `ways`: over how many shards its
  /// layers are split. `messages` gets the diagnostics of a module. Both
  /// `options` and `messages` must live as long as this.
  InputReader(const PlanOptions &options, size_t file, int64_t ways = 1,
              llvm::raw_ostream &messages = llvm::errs());
  ~InputReader();

  /// Reads the input, and sets its cluster to that of the options, if given.
  /// Errors in a module have already been written at their places; the returned
  /// error only says that there were some.
  ///
  /// `halves`: whether backwards of a module are split into I and W for any
  /// schedule. `other`, if given in the first call, becomes the other form, or
  /// its error; both are read at the same time.
  Result<Input> read(bool halves = false, Result<Input> *other = nullptr);

private:
  class Module;
  Status formModule(const std::string &text);
  Result<Input> readForm(bool halves, bool isFirst);

  const PlanOptions &options;
  size_t number;
  int64_t ways;
  llvm::raw_ostream &messages;
  std::unique_ptr<Module> module; ///< Once it is formed.
};

/// The number of shards that annotations of input `file` ask for; 1 if they ask
/// for none. Errors as for InputReader.
Result<int64_t> annotatedShards(const PlanOptions &options, size_t file);

/// The text of --explain-layouts for input `file`, which must be a step. Errors
/// as for InputReader.
Result<std::string> explainLayouts(const PlanOptions &options, size_t file);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H
