//===- DelayAveraging.cpp - pipeline-delay-averaging ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ScheduleData.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Silence.h"
#include "stagewright/Support/Text.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_DELAYAVERAGING
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct DelayAveragingPass : impl::DelayAveragingBase<DelayAveragingPass> {
  using DelayAveragingBase::DelayAveragingBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkOptions()) || failed(ensureSchedule()))
      return signalPassFailure();
    if (every == 1 && fixedDelay == 0)
      return;
    for (auto schedule : llvm::to_vector(module.getOps<ScheduleOp>()))
      if (failed(average(schedule)))
        return signalPassFailure();
  }

private:
  /// Names the option of the pass and that of pp-compile.
  static std::string giveEvery(int64_t steps) {
    return llvm::formatv("give every={0} (pp-compile: --average-every={0})",
                         steps);
  }

  LogicalResult checkOptions() {
    Location loc = getOperation().getLoc();
    if (every < 1)
      return emitError(loc)
             << "every must be at least 1 step, got " << int64_t(every);
    if (!(xi >= 0 && xi <= 1))
      return emitError(loc) << "xi must be from 0 to 1, got " << double(xi);
    if (merge != "convex" && merge != "corrected")
      return emitError(loc) << "merge must be convex or corrected, got '"
                            << merge.getValue() << "'";
    fixedDelay = std::nullopt;
    if (delay == "auto")
      return success();
    int64_t number = 0;
    if (StringRef(delay).getAsInteger(10, number) || number < 0)
      return emitError(loc) << "delay must be auto or a number of steps from "
                            << "0, got '" << delay.getValue() << "'";
    if (number > every)
      return emitError(loc)
             << "delay must be at most every, so that one average ends before "
             << "the next begins, but it is " << number << " and every is "
             << int64_t(every) << "; " << giveEvery(number) << " or more";
    fixedDelay = number;
    return success();
  }

  LogicalResult average(ScheduleOp schedule) {
    ProgramOp program = programOf(schedule);
    if (!getOperation().lookupSymbol<func::FuncOp>("update"))
      return program.emitOpError()
             << "cannot average parameters that do not change: there is no "
             << "@update; import the model with the option 'update'";
    bool shared = llvm::any_of(
        program.getBody().front().getOps<StageOp>(),
        [](StageOp stage) { return stage.getDevices().size() > 1; });
    if (!shared)
      return program.emitOpError()
             << "has no stage with replicas, so there is nothing to average; "
             << "plan some, for example with --plan=\"[0,3)x2\"";
    FailureOr<AveragingTimes> times = predict(program, readSchedule(schedule));
    if (failed(times))
      return failure();
    int64_t steps = fixedDelay.value_or(0);
    if (!fixedDelay) {
      // Less a rounding error, so that two steps of 1 ms hide 2 ms.
      double wanted = times->allReduce.value / times->step.value - 1e-9;
      steps = std::max<int64_t>(1, int64_t(std::ceil(wanted)));
      if (steps > every)
        return program.emitOpError()
               << "needs " << toString(times->allReduce)
               << " to sum an average, which is " << steps << " steps of "
               << toString(times->step)
               << ", but the next average begins after " << int64_t(every)
               << "; " << giveEvery(steps) << " or more, or a delay of at most "
               << int64_t(every)
               << ", with which steps wait until the sum is complete";
    }
    Builder builder(&getContext());
    bool known = times->step.value > 0;
    auto seconds = [&](Seconds value) {
      return known ? builder.getF64FloatAttr(value.value) : FloatAttr();
    };
    program.setAveragingAttr(AveragingAttr::get(
        &getContext(), every, steps, builder.getF64FloatAttr(xi),
        builder.getStringAttr(merge), seconds(times->allReduce),
        seconds(times->step)));
    return success();
  }

  /// The times of an average; with a delay that is given they are only for the
  /// report, and 0 if costs are unknown.
  FailureOr<AveragingTimes> predict(ProgramOp program, const Schedule &orders) {
    std::optional<Silence> silence;
    if (fixedDelay)
      silence.emplace(&getContext());
    FailureOr<AveragingTimes> times = averagingTimes(program, orders);
    if (failed(times) && fixedDelay)
      return AveragingTimes();
    return times;
  }

  std::optional<int64_t> fixedDelay; ///< Else auto.
};
} // namespace
} // namespace stagewright::pipeline
