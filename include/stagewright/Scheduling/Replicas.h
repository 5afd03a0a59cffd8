//===- Replicas.h - stages whose replicas take turns ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage whose replicas take whole microbatches in turn runs microbatch m on
// replica m % n of n. Where all stages have as many, microbatches m % n = k
// keep to replica k of every stage: n pipelines side by side, each with an
// order and an in-flight limit of its own, that meet where gradients are
// summed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_REPLICAS_H
#define STAGEWRIGHT_SCHEDULING_REPLICAS_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// By stage: the ranks of its replicas, which take microbatches in turn. Stages
/// that share a rank have the same ones.
using ReplicaRanks = std::vector<std::vector<int64_t>>;

/// Whether `ranks` are those of replicas, of some stage several: stages that
/// share a rank share all of theirs, in one order.
bool areReplicas(const ReplicaRanks &ranks);

/// How many pipelines run side by side: the replicas of every stage, or 1 where
/// stages differ in that.
int64_t pipelinesOf(const ReplicaRanks &ranks);

/// Microbatches of pipeline `number` of `pipelines` side by side.
int64_t microbatchesOf(int64_t number, int64_t pipelines, int64_t microbatches);

/// The orders of one pipeline for a number of microbatches.
using MakeSchedule = std::function<Result<Schedule>(int64_t microbatches)>;

/// What `make` makes for each of the pipelines side by side; called once for
/// every number of microbatches that one of them has.
Result<Schedule> sideBySide(const MakeSchedule &make, int64_t microbatches,
                            const ReplicaRanks &ranks);

/// What `generator` makes for `shape`, whose ranks are those of first replicas,
/// on all of them: of pipelines side by side for each alone, else for stages of
/// unequal replicas together and then dealt. An error says which of the shape's
/// numbers will not do.
Result<Schedule> generateInTurn(const Generator &generator, ScheduleShape shape,
                                const ReplicaRanks &ranks);

/// `schedule`, of one rank for all replicas of a stage, with every action where
/// its turn is.
Schedule dealInTurn(const Schedule &schedule, const ReplicaRanks &ranks);

/// The ranks of pipeline `number` of several side by side, in increasing order.
std::vector<int64_t> ranksOfPipeline(const ReplicaRanks &ranks, int64_t number);

/// Pipeline `number` of several side by side: its actions, with microbatches
/// and ranks counted from 0.
Schedule oneOf(const Schedule &schedule, const ReplicaRanks &ranks,
               int64_t number);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_REPLICAS_H
