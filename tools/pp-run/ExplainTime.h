//===- ExplainTime.h - what a step is estimated to take ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roofline of Cost/StepTime.h for an artifact. Only a build with the cost
// model has it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PPRUN_EXPLAINTIME_H
#define STAGEWRIGHT_TOOLS_PPRUN_EXPLAINTIME_H

#include <string>

namespace stagewright::runtime {

/// The calls of `counts`, as sw_count_step gives them, with times on the
/// devices of `cluster`, a preset or a file; as a table or as JSON. With
/// `anyOrder` as a run with --any-order would take.
std::string estimatedTimes(const std::string &counts,
                           const std::string &cluster, bool json,
                           bool anyOrder);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TOOLS_PPRUN_EXPLAINTIME_H
