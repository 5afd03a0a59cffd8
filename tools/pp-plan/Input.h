//===- Input.h - what pp-plan plans -----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H

#include "Options.h"

namespace stagewright {

/// The name of the format of `text`, from the name of its file and its first
/// characters.
Result<std::string> guessFormat(const std::string &text,
                                const std::string &file);

/// What is planned.
struct Input {
  Problem problem;
  bool isModule = false; ///< Else a profile.
};

/// Reads file number `file` of the options and puts it on their cluster, or on
/// its own. Errors in a module have been printed where they are; the error
/// returned then only says so.
/// `halves`: whether backwards of a module stay in halves whatever the
/// schedule.
Result<Input> readInput(const PlanOptions &options, size_t file,
                        bool halves = false);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H
