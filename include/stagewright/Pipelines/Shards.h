//===- Shards.h - planning layers that are split ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PIPELINES_SHARDS_H
#define STAGEWRIGHT_PIPELINES_SHARDS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Pipelines/Compile.h"
#include "stagewright/Planning/GangProblem.h"

namespace stagewright {

/// The numbers of shards among which `kChooseShards` chooses for `cluster`:
/// those that divide its number of devices, up to 8 or, if a host has more than
/// 8 devices, up to the number of devices of the largest host. A number that is
/// not a power of two must also divide the devices of every host that has at
/// least as many: the shards of a layer then share a host.
std::vector<int64_t> numbersOfShards(const Cluster &cluster);

/// The problems of gangs for `graph`, whose layers pipeline-shard has split
/// over `ways` shards; `problem` is that of its layers, and `options` are those
/// that formed it. Emits errors.
mlir::FailureOr<GangProblems> gangProblemsOf(pipeline::GraphOp graph,
                                             const Problem &problem,
                                             int64_t ways,
                                             const CompileOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_PIPELINES_SHARDS_H
