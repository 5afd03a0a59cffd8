//===- ScheduleCosts.h - numbers of the command line ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULECOSTS_H
#define STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULECOSTS_H

#include "ScheduleFlags.h"
#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright {

/// A whole number from 1 to `most`; `otherwise` where `text` is empty.
Result<int64_t> readCount(const char *flag, const std::string &text,
                          int64_t most, int64_t otherwise);

/// Fills stages, hops, memory and overlap of `problem`, whose placement, ranks
/// and chunks are known. Errors name the flag.
Status readCosts(const ScheduleFlags &flags, ScheduleProblem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULECOSTS_H
