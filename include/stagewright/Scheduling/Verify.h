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

#include "stagewright/Scheduling/StageGraph.h"

namespace stagewright {

/// Proves that `schedule` runs every phase of every stage and microbatch of
/// `graph` exactly once, each after what it needs, and that all ranks finish
/// with the stated ring depths. The error of a deadlock names the cycle of
/// ranks and what each waits for. Linear in actions times edges of a stage.
Status verify(const Schedule &schedule, const StageGraph &graph);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_VERIFY_H
