//===- CommunicationData.h - messages of a schedule -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What pipeline-schedule-communication leaves on a schedule, as plain data
// (Scheduling/Communication.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_COMMUNICATIONDATA_H
#define STAGEWRIGHT_ANALYSIS_COMMUNICATIONDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Scheduling/Communication.h"

namespace stagewright::pipeline {

/// On an order: its actions with sends, receives and waits, as text.
inline constexpr llvm::StringLiteral kCommunication = "pipeline.communication";
/// On a schedule: its communicators, dictionaries of from, to and round.
inline constexpr llvm::StringLiteral kChannels = "pipeline.channels";

/// Writes the messages of `plan` on `schedule`, whose orders they are of.
void writeCommunication(ScheduleOp schedule, const CommPlan &plan);

/// Whether `schedule` or one of its orders says anything of messages.
bool hasCommunication(ScheduleOp schedule);

/// Forgets the messages of `schedule`, as where its orders have changed.
void removeCommunication(ScheduleOp schedule);

/// Reads them back and proves them against the program; routes are not kept.
/// Fails with a located error where there are none, where one cannot be read,
/// where the lists compute something else than the orders, and where a channel
/// is missing, joins ranks without messages, or shares its round with another
/// of its ranks.
mlir::FailureOr<CommPlan> readCommunication(ScheduleOp schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_COMMUNICATIONDATA_H
