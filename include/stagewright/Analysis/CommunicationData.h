//===- CommunicationData.h - messages of a schedule -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes that pipeline-schedule-communication sets on a schedule, as
// plain data (Scheduling/Communication.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_COMMUNICATIONDATA_H
#define STAGEWRIGHT_ANALYSIS_COMMUNICATIONDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Scheduling/Communication.h"

namespace stagewright::pipeline {

/// On an order: its actions with its sends, receives and waits, as text.
inline constexpr llvm::StringLiteral kCommunication = "pipeline.communication";
/// On a schedule: its communicators, as dictionaries of from, to and round.
inline constexpr llvm::StringLiteral kChannels = "pipeline.channels";

/// Sets the messages of `plan` on `schedule`, for whose orders it was made.
void writeCommunication(ScheduleOp schedule, const CommPlan &plan);

/// Whether `schedule` or one of its orders has these attributes.
bool hasCommunication(ScheduleOp schedule);

/// Removes these attributes from `schedule`; call it if its orders change.
void removeCommunication(ScheduleOp schedule);

/// Reads the attributes and verifies them against the program; routes are not
/// stored. Fails with a located error if they are missing or cannot be read, if
/// their actions differ from the orders, or if a channel is missing, connects
/// ranks without messages, or has the same round as another channel of one of
/// its ranks.
mlir::FailureOr<CommPlan> readCommunication(ScheduleOp schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_COMMUNICATIONDATA_H
