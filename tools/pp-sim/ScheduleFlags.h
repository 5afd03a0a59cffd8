//===- ScheduleFlags.h - flags for schedules without a model ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULEFLAGS_H
#define STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULEFLAGS_H

#include "stagewright/Support/Result.h"
#include "llvm/Support/CommandLine.h"

namespace stagewright {

/// The values of the flags, before numbers are parsed. An empty string or false
/// means that the flag is not given.
struct ScheduleFlags {
  std::string schedule; ///< A generator, "auto", or a file that ends in .csv.
  std::string ranks, microbatches, chunks, group;
  std::string forward, inputGradient, weightGradient, hop;
  std::string activation, weightGradActivation, recomputeInput, memory;
  std::string placement, objective, overlap, csv;
  std::string execution, credits, jitter;
  bool recompute = false, noSplit = false, forwardOnly = false,
       communication = false;
};

/// The category of these flags in --help.
llvm::cl::OptionCategory &scheduleCategory();

/// The flags given, except `microbatches`, which is a flag of pp-sim itself.
ScheduleFlags scheduleFlags();

/// The first of these flags that is given, such as "--ranks"; empty if none is.
std::string firstScheduleFlag();

/// The first of these flags that is given without a value, as in "--forward=".
std::string firstEmptyScheduleFlag();

/// Whether to list the generators, and the list.
bool listsSchedules();
std::string listOfSchedules();

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULEFLAGS_H
