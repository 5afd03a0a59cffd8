//===- ScheduleFlags.h - a schedule without a model, by flags ---*- C++ -*-===//
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

/// What the flags say, before a number is read. Empty texts and zeros are
/// flags that are not there.
struct ScheduleFlags {
  std::string schedule; ///< A generator, "auto", or a file that ends in .csv.
  std::string ranks, microbatches, chunks, group;
  std::string forward, inputGradient, weightGradient, hop;
  std::string activation, weightGradActivation, recomputeInput, memory;
  std::string placement, objective, overlap, csv;
  bool recompute = false, noSplit = false, forwardOnly = false,
       communication = false;
};

/// The category that --help shows them under.
llvm::cl::OptionCategory &scheduleCategory();

/// The flags given, but `microbatches`, which pp-sim has anyway.
ScheduleFlags scheduleFlags();

/// The first of them that is given, such as "--ranks"; empty if none is.
std::string firstScheduleFlag();

/// The first of them that is given without a value, as in "--forward=".
std::string firstEmptyScheduleFlag();

/// Whether the generators are to be listed, and the list.
bool listsSchedules();
std::string listOfSchedules();

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_SCHEDULEFLAGS_H
