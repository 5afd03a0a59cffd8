//===- ExplainTime.h - estimated times of a step ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roofline estimate of Cost/StepTime.h for an artifact. Only available in
// builds with the cost model.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PPRUN_EXPLAINTIME_H
#define STAGEWRIGHT_TOOLS_PPRUN_EXPLAINTIME_H

#include <string>

namespace stagewright::runtime {

/// The calls of `counts`, as returned by sw_count_step, with times on the
/// devices of `cluster`, a preset or a file; as a table or as JSON. With
/// `anyOrder` the times are those of a run with --any-order.
std::string estimatedTimes(const std::string &counts,
                           const std::string &cluster, bool json,
                           bool anyOrder);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TOOLS_PPRUN_EXPLAINTIME_H
