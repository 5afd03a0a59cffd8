//===- PlanShards.h - places the layers of shards on devices ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipeline-shard creates layers for each level and shard. Each shard has its
// own device, and its layers of a level are a stage of that device, like a
// chunk of an interleaved schedule. The layers of one level are parallel stages
// that do not wait for each other. With --stages the levels are divided among
// several gangs of such devices, which form a pipeline (Scheduling/Gangs.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_PLANSHARDS_H
#define STAGEWRIGHT_LIB_PIPELINES_PLANSHARDS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// The plan of `graph`, as JSON for pipeline-partition: a stage for each level
/// (or head with its tail) and shard. Fails with an error if `options` do not
/// suit shards, or if there are too few devices or levels. `ofStages`: the
/// numbers of shards of the stages into which pipeline-shard has cut the step;
/// empty: it has not cut it.
mlir::FailureOr<std::string> planShards(pipeline::GraphOp graph,
                                        const CompileOptions &options,
                                        mlir::ArrayRef<int64_t> ofStages = {});

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_PLANSHARDS_H
