//===- ScheduleCosts.h - parses counts and costs of flags -------*- C++ -*-===//
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

/// Parses an integer from 1 to `max`; `otherwise` if `text` is empty.
Result<int64_t> readCount(const char *flag, const std::string &text,
                          int64_t max, int64_t otherwise);

/// Sets the costs of `problem` (stages, hops, memory, overlap) and whether it
/// has only forwards; ranks, chunks and microbatches must be set. Errors name
/// the flag.
Status readCosts(const ScheduleFlags &flags, ScheduleProblem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULECOSTS_H
