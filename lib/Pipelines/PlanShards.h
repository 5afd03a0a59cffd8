//===- PlanShards.h - where the layers of shards lie ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipeline-shard leaves a layer for each level and shard. A shard is a device,
// so each of its layers is a stage of that device, as chunks are of an
// interleaved schedule; the layers of one level, stages side by side, do not
// wait for each other. With --stages the levels lie on several groups of such
// devices, which are a pipeline (Scheduling/Gangs.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_PLANSHARDS_H
#define STAGEWRIGHT_LIB_PIPELINES_PLANSHARDS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// The plan of `graph`, as JSON that pipeline-partition takes: a stage for each
/// layer. Fails with an error where there are fewer devices than that takes, or
/// levels than stages.
mlir::FailureOr<std::string> planShards(pipeline::GraphOp graph,
                                        const CompileOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_PLANSHARDS_H
