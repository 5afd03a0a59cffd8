//===- ScheduleCommunication.cpp - pipeline-schedule-communication --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/CommunicationData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SCHEDULECOMMUNICATION
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct ScheduleCommunicationPass
    : impl::ScheduleCommunicationBase<ScheduleCommunicationPass> {
  using ScheduleCommunicationBase::ScheduleCommunicationBase;

  void runOnOperation() override {
    if (receiveBuffers < 1 || sendBuffers < 1) {
      emitError(getOperation().getLoc())
          << "buffers must be at least 1, got receive-buffers="
          << int64_t(receiveBuffers)
          << " and send-buffers=" << int64_t(sendBuffers);
      return signalPassFailure();
    }
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(annotate(schedule)))
        return signalPassFailure();
  }

  LogicalResult annotate(ScheduleOp schedule) {
    removeCommunication(schedule); // It may be older than the orders.
    FailureOr<Schedule> data = readSchedule(schedule);
    if (failed(data) || failed(verifySchedule(schedule)))
      return failure();
    Result<CommPlan> plan =
        insertCommunication(*data, stageGraphOf(programOf(schedule)),
                            {receiveBuffers, sendBuffers});
    if (!plan)
      return emitError(schedule.getLoc()) << plan.error().message;
    writeCommunication(schedule, *plan);
    numChannels += plan->channels.size();
    for (const CommOrder &order : plan->schedule.ranks)
      numMessages += llvm::count_if(order, [](const CommAction &action) {
        return action.kind == CommKind::Send;
      });
    // Check what was written by reading it back.
    return readCommunication(schedule);
  }
};
} // namespace
} // namespace stagewright::pipeline
