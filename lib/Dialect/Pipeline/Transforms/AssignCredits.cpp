//===- AssignCredits.cpp - pipeline-assign-credits ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/AssignCredits.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include "stagewright/Support/Limits.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_ASSIGNCREDITS
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
/// The costs of `program`, which runs `schedule` and whose stage graph is
/// `graph`. Without those of nodes, the stages are equal and memory is
/// unlimited.
FailureOr<CreditCosts> costsOf(ProgramOp program, const Schedule &schedule,
                               const StageGraph &graph) {
  if (!hasCosts(graphOf(program)))
    return CreditCosts{unitTimes(graph.stages), {}};
  return creditCostsOf(program, schedule, graph, hasShards(graphOf(program)));
}

struct AssignCreditsPass : impl::AssignCreditsBase<AssignCreditsPass> {
  using AssignCreditsBase::AssignCreditsBase;

  void runOnOperation() override {
    if (spare < 0 || spare > kMostMicrobatches) {
      emitError(getOperation().getLoc())
          << "spare must be from 0 to " << kMostMicrobatches << ", got "
          << int64_t(spare);
      return signalPassFailure();
    }
    if (failed(ensureSchedule()))
      return signalPassFailure();
    for (ScheduleOp op : llvm::to_vector(getOperation().getOps<ScheduleOp>()))
      if (failed(assign(op)))
        return signalPassFailure();
  }

  LogicalResult assign(ScheduleOp schedule) {
    if (failed(verifySchedule(schedule)))
      return failure();
    StageGraph graph = stageGraphOf(programOf(schedule));
    std::vector<int64_t> chosen(credits.begin(), credits.end());
    if (chosen.empty()) {
      FailureOr<std::vector<int64_t>> computed =
          compute(schedule, readSchedule(schedule), graph);
      if (failed(computed))
        return failure();
      chosen = *computed;
    }
    if (Status status = checkCredits(graph, chosen); !status)
      return emitError(schedule.getLoc()) << status.error().message;
    schedule.setCredits(chosen);
    numCredits += std::accumulate(chosen.begin(), chosen.end(), int64_t(0));
    return success();
  }

  FailureOr<std::vector<int64_t>>
  compute(ScheduleOp schedule, const Schedule &data, const StageGraph &graph) {
    FailureOr<CreditCosts> costs = costsOf(programOf(schedule), data, graph);
    if (failed(costs))
      return failure();
    Result<Credits> found =
        assignCredits(data, graph, costs->times, costs->memory, spare);
    if (!found)
      return emitError(schedule.getLoc()) << found.error().message;
    if (!found->isCapped())
      return found->assigned;
    auto list = [](const std::vector<int64_t> &numbers) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      llvm::interleaveComma(numbers, stream);
      return text;
    };
    schedule.emitRemark()
        << "memory allows credits " << list(found->assigned) << " of "
        << list(found->wanted) << "; the step takes "
        << llvm::formatv("{0:F1} %", 100 * found->loss()).str()
        << " longer than with unlimited credits";
    for (size_t s = 0; s < found->wanted.size(); ++s)
      numCapped += found->wanted[s] - found->assigned[s];
    return found->assigned;
  }
};
} // namespace
} // namespace stagewright::pipeline
