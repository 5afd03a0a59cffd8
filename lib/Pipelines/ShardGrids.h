//===- ShardGrids.h - shards, groups and copies to try ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_SHARDGRIDS_H
#define STAGEWRIGHT_LIB_PIPELINES_SHARDGRIDS_H

#include "stagewright/Cost/Cluster.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// Copies of a pipeline of groups of devices. A group shares its layers over
/// `ways` shards, in `chunks` stages.
struct Grid {
  int64_t ways = 1, groups = 1, chunks = 1, copies = 1;
  std::string schedule; ///< Empty: that of the options.

  int64_t stages() const { return groups * chunks; }
};

std::vector<int64_t> divisorsOf(int64_t number);

/// The grids of `ways` shards that are worth a trial for `graph`. They take all
/// devices, with at most one copy per microbatch, and agree with `options`. If
/// these leave schedule and chunks open, there are grids of one stage per
/// group, and of the numbers of stages with which an interleaved pipeline
/// promises to be fastest.
mlir::FailureOr<std::vector<Grid>> gridsOf(pipeline::GraphOp graph,
                                           int64_t ways, int64_t microbatches,
                                           const Cluster &cluster,
                                           const CompileOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDGRIDS_H
