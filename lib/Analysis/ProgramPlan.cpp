//===- ProgramPlan.cpp - the plan of a program ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Planning/Request.h"

namespace stagewright::pipeline {

Plan planOf(ProgramOp program) {
  Plan plan;
  plan.planner = "fixed";
  if (PlanAttr promise = program.getPlanAttr()) {
    plan.planner = promise.getPlanner().getValue().str();
    plan.familyBound = Seconds(promise.getBound().getValueAsDouble());
    if (promise.getSchedule())
      plan.order = programOrder(promise.getSchedule().getValue())
                       .value_or(ExecutionOrder::OneFOneB);
  }
  llvm::StringMap<size_t> numbers;
  for (auto device : clusterOf(program).getBody().front().getOps<DeviceOp>())
    numbers.try_emplace(device.getSymName(), numbers.size());
  for (auto op : program.getBody().front().getOps<StageOp>()) {
    StagePlan stage;
    stage.layers.assign(op.getLayers().begin(), op.getLayers().end());
    for (auto device : op.getDevices().getAsRange<FlatSymbolRefAttr>())
      stage.devices.push_back(numbers.lookup(device.getValue()));
    stage.recompute = op.getRecompute();
    stage.gangStage = op.getGangStage();
    if (auto offload = op.getOffload())
      stage.offload.assign(offload->begin(), offload->end());
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

} // namespace stagewright::pipeline
