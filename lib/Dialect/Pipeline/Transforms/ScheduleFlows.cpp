//===- ScheduleFlows.cpp - pipeline-schedule-flows ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/FlowData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SCHEDULEFLOWS
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct ScheduleFlowsPass : impl::ScheduleFlowsBase<ScheduleFlowsPass> {
  using ScheduleFlowsBase::ScheduleFlowsBase;

  void runOnOperation() override {
    Result<LinkSharing> sharing = parseLinkSharing(policy);
    if (!sharing) {
      emitError(getOperation().getLoc()) << sharing.error().message;
      return signalPassFailure();
    }
    auto schedules = llvm::to_vector(getOperation().getOps<ScheduleOp>());
    if (schedules.empty()) {
      emitError(getOperation().getLoc())
          << "there is no pipeline.schedule; run pipeline-schedule first";
      return signalPassFailure();
    }
    for (ScheduleOp schedule : schedules)
      if (failed(certify(schedule, *sharing)))
        return signalPassFailure();
  }

  static LogicalResult certify(ScheduleOp schedule, LinkSharing sharing) {
    if (failed(verifySchedule(schedule)))
      return failure();
    FailureOr<FlowCertificate> certificate = certifyFlows(schedule, sharing);
    if (failed(certificate) ||
        failed(writeFlows(programOf(schedule), /*withRates=*/true)))
      return failure();
    writeCertificate(schedule, *certificate, sharing);
    emitRemark(schedule.getLoc())
        << toString(sharing) << " rates: " << describe(*certificate);
    return success();
  }
};
} // namespace
} // namespace stagewright::pipeline
