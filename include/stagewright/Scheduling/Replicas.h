//===- Replicas.h - stages whose replicas take turns ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage whose replicas take whole microbatches in turn runs microbatch m on
// replica m % n of n. If all stages have n replicas, microbatches m % n = k use
// replica k of every stage. These are n pipelines side by side, each with its
// own order and in-flight limit; only gradients are summed over them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_REPLICAS_H
#define STAGEWRIGHT_SCHEDULING_REPLICAS_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// By stage: the ranks of its replicas, which take microbatches in turn. Stages
/// that share a rank have the same ranks.
using ReplicaRanks = std::vector<std::vector<int64_t>>;

/// Whether some stage has several ranks, and stages that share a rank have the
/// same ranks in the same order.
bool areReplicas(const ReplicaRanks &ranks);

/// The number of pipelines side by side: the number of replicas of every stage,
/// or 1 if stages differ in it.
int64_t pipelinesOf(const ReplicaRanks &ranks);

/// The number of microbatches of pipeline `number` of `pipelines` side by side.
int64_t microbatchesOf(int64_t number, int64_t pipelines, int64_t microbatches);

/// A function that makes the orders of one pipeline.
using MakeSchedule = std::function<Result<Schedule>(int64_t microbatches)>;

/// The schedules of all pipelines side by side, each made by `make`, which is
/// called once for every distinct number of microbatches.
Result<Schedule> sideBySide(const MakeSchedule &make, int64_t microbatches,
                            const ReplicaRanks &ranks);

/// The schedule of `generator` on all replicas for `shape`, whose ranks are the
/// first replicas. Pipelines side by side are generated separately. If stages
/// differ in replicas, one schedule is generated and dealInTurn() distributes
/// its actions. An error names the invalid value of the shape.
Result<Schedule> generateInTurn(const Generator &generator, ScheduleShape shape,
                                const ReplicaRanks &ranks);

/// Distributes the actions of `schedule`, which has one rank for all replicas
/// of a stage: those of microbatch m go to replica m % n of n.
Schedule dealInTurn(const Schedule &schedule, const ReplicaRanks &ranks);

/// The ranks of pipeline `number` of several side by side, in increasing order.
std::vector<int64_t> ranksOfPipeline(const ReplicaRanks &ranks, int64_t number);

/// Pipeline `number` of several side by side: its actions, with microbatches
/// and ranks counted from 0.
Schedule oneOf(const Schedule &schedule, const ReplicaRanks &ranks,
               int64_t number);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_REPLICAS_H
