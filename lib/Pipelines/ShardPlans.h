//===- ShardPlans.h - plans of gangs ----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_SHARDPLANS_H
#define STAGEWRIGHT_LIB_PIPELINES_SHARDPLANS_H

#include "ShardStages.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "stagewright/Pipelines/Compile.h"

namespace stagewright {

/// `copies` pipelines, each of `groups` gangs of `ways` devices, with `chunks`
/// stages on each gang.
struct GangShape {
  int64_t ways = 1, groups = 1, chunks = 1, copies = 1;
  std::string schedule = {};

  int64_t stages() const { return groups * chunks; }
};

/// A plan that is worth a trial.
struct ShardPlan {
  GangShape shape;
  Seconds seconds;  ///< As the planner of gangs expects.
  std::string json; ///< For pipeline-partition.
  /// The graph with the layers that repeat their forwards; null: none does.
  mlir::OwningOpRef<mlir::ModuleOp> repeated = {};
  /// The largest share of its memory that a device needs, as the planner of
  /// gangs counts; 1 for single gangs, for which it is not counted.
  double share = 1;
};

struct ShardPlans {
  std::vector<ShardPlan> plans;
  /// Lower bound on the time of all plans that were searched.
  Seconds bound;
  /// Why there is no pipeline of several gangs, or no plan of single gangs.
  std::string problem;
};

/// The plans for `graph`, whose layers are split over `ways` shards, that agree
/// with `options`: the fastest pipeline of several gangs, by any schedule with
/// linear or loop placement (of those that split backwards, if `graph` does; of
/// the others, if not), and, unless backwards are split, the plan without a
/// pipeline: single gangs, which take microbatches in turn. If layers may
/// repeat their forwards, there is a second plan of single gangs, in which all
/// layers but the last do so. There are as many single gangs as the options ask
/// for or, by default, as the numbers of devices and microbatches allow. The
/// memory of the devices of `cluster` is the limit that the options ask for.
mlir::FailureOr<ShardPlans> planGroups(pipeline::GraphOp graph, int64_t ways,
                                       int64_t microbatches,
                                       const Cluster &cluster,
                                       const CompileOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDPLANS_H
