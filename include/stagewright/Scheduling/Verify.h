//===- Verify.h - proof that a schedule finishes ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// However a schedule was made, a program runs it only if it passes here.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_VERIFY_H
#define STAGEWRIGHT_SCHEDULING_VERIFY_H

#include "stagewright/Scheduling/ScheduleProblem.h"
#include "stagewright/Scheduling/StageGraph.h"

namespace stagewright {

/// Proves that `schedule` runs every phase of every stage and microbatch of
/// `graph` exactly once, each after what it needs, and that all ranks finish
/// with the stated ring depths, whether or not pairs overlap. R may come once
/// before I or B. All of a microbatch's actions on a stage lie on one rank,
/// which may be any: a stage may have two (twins). The error of a deadlock
/// names the cycle of ranks and what each waits for; a note of every error
/// draws the orders around it. Linear in actions times edges of a stage: p =
/// 64, M = 512, v = 2 in 0.1 s.
Status verify(const Schedule &schedule, const StageGraph &graph);

/// The same, every stage on a rank that the placement of `problem` gives it
/// (under Twin either of the two), and within its memory.
Status verify(const Schedule &schedule, const StageGraph &graph,
              const ScheduleProblem &problem);

/// Only that `schedule` has the ranks, stages and microbatches of `problem`.
Status checkSize(const Schedule &schedule, const ScheduleProblem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_VERIFY_H
