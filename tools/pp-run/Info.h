//===- Info.h - the description of an artifact ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_INFO_H
#define STAGEWRIGHT_TOOLS_PP_RUN_INFO_H

#include <nlohmann/json.hpp>
#include <ostream>

/// Prints the manifest as `--info` does: the plan, the memory of every rank,
/// the requirements on the machine, the schedule as a grid, and the arguments
/// and results.
void printInfo(std::ostream &out, const nlohmann::json &manifest);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_INFO_H
