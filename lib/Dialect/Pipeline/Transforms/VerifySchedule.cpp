//===- VerifySchedule.cpp - pipeline-verify-schedule ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/FlowData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct VerifySchedulePass : impl::VerifyScheduleBase<VerifySchedulePass> {
  using VerifyScheduleBase::VerifyScheduleBase;

  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(verifySchedule(schedule)) || failed(verifyFlows(schedule)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace stagewright::pipeline
