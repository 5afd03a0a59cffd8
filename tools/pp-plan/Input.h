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

/// Reads file number `file` of the options and puts it on their cluster, or on
/// its own. Errors in a module have been printed where they are; the error
/// returned then only says so.
Result<Problem> readInput(const PlanOptions &options, size_t file);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_INPUT_H
