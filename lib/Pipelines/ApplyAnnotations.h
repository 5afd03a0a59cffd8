//===- ApplyAnnotations.h - annotations as options --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_APPLYANNOTATIONS_H
#define STAGEWRIGHT_LIB_PIPELINES_APPLYANNOTATIONS_H

#include "ShardLevels.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// The ends of the stages that annotations ask for, as levels: where one
/// split(n) ends and the next one begins, at the level that sends the fewest
/// bytes. If no stage may end between the two (ShardLevel::mayEnd), there is no
/// end. Empty if annotations ask for no stages.
std::vector<size_t> annotatedEnds(pipeline::GraphOp graph,
                                  const std::vector<ShardLevel> &levels);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_APPLYANNOTATIONS_H
