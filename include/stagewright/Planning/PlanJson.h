//===- PlanJson.h - plans as JSON and as tables -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan as JSON, which can be read back, and as a table for the terminal. The
// text of a plan is the same on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLANJSON_H
#define STAGEWRIGHT_PLANNING_PLANJSON_H

#include "stagewright/Planning/Search.h"
#include "stagewright/Planning/UniformPlan.h"

namespace stagewright {

/// The plan as one JSON object, ended by a newline, in seconds and bytes; `gap`
/// is the time divided by the family bound, minus 1. A quantity that the plan
/// does not have is left out. Plans of `uniform` that fit are listed as well,
/// and searches.
std::string planToJson(const Problem &problem, const Plan &plan,
                       const std::vector<UniformPlan> &uniform = {},
                       const std::vector<SearchOutcome> &searches = {});

/// Reads the first part of each stage and the order or schedule back;
/// evaluate() or evaluatePlaced() finds the rest. `file` names the text in
/// errors.
Result<Plan> planFromJson(const std::string &text, const std::string &file,
                          const Problem &problem);

/// Whether `text` is the JSON of a plan whose schedule splits backwards into I
/// and W. False for ranges of layers and for invalid text.
bool splitsBackward(const std::string &text);

/// "n0d0-n0d7, n1d3": names of devices, with consecutive ones as a range.
std::string joinedNames(const Cluster &cluster,
                        const std::vector<size_t> &devices);

/// A line per stage, with a bar of its busy time relative to the busiest stage,
/// and the certificate. `explain`: also why the plan was chosen.
std::string planTable(const Problem &problem, const Plan &plan, bool explain);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLANJSON_H
