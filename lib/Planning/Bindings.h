//===- Bindings.h - what each stage is limited by ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: what limits the speed or the size of each stage.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_BINDINGS_H
#define STAGEWRIGHT_LIB_PLANNING_BINDINGS_H

#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// Sets the binding of every stage of `plan`: the largest of its compute,
/// channel and all-reduce loads, or memory if layers of it recompute.
void findBindings(const PipelineModel &model, Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_BINDINGS_H
