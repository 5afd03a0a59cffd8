//===- Schedule.cpp - pipeline-schedule -----------------------------------===//
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
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Simulation/Grid.h"

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SCHEDULE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// The generators put stage s on rank s, so every stage must have a device of
/// its own.
static LogicalResult checkPlacement(ProgramOp program) {
  llvm::StringMap<int64_t> stageOf;
  for (StageOp stage : program.getBody().front().getOps<StageOp>()) {
    if (stage.getDevices().size() != 1)
      return stage.emitOpError()
             << "lies on " << stage.getDevices().size()
             << " devices; schedules run each stage on one device, partition "
             << "with max-replicas=1";
    if (stage.getRecompute())
      return stage.emitOpError()
             << "runs its forward again before the backward; schedules do not "
             << "yet, partition with recompute=false";
    StringRef device =
        cast<FlatSymbolRefAttr>(stage.getDevices()[0]).getValue();
    auto [entry, isNew] = stageOf.try_emplace(device, stage.getIndex());
    if (!isNew)
      return stage.emitOpError()
             << "lies on device @" << device << " like stage " << entry->second
             << "; schedules run one stage per device, use fewer stages";
  }
  return success();
}

namespace {
struct SchedulePass : impl::ScheduleBase<SchedulePass> {
  using ScheduleBase::ScheduleBase;

  void runOnOperation() override {
    if (kind != "auto" && failed(generatorOf(kind, getOperation().getLoc())))
      return signalPassFailure();
    if (getOperation().getOps<ProgramOp>().empty()) {
      PartitionOptions options;
      options.schedule = kind;
      options.maxReplicas = 1;
      OpPassManager earlier(ModuleOp::getOperationName());
      earlier.addPass(createPartition(options));
      if (failed(runPipeline(earlier, getOperation())))
        return signalPassFailure();
    }
    for (ProgramOp program :
         llvm::to_vector(getOperation().getOps<ProgramOp>()))
      if (failed(schedule(program)))
        return signalPassFailure();
  }

  static FailureOr<Generator> generatorOf(StringRef kind, Location loc) {
    Result<Generator> generator = findGenerator(kind);
    if (!generator)
      return emitError(loc, generator.error().message);
    return *generator;
  }

  /// The kind of the option, else the one that `program` was planned for.
  StringRef kindFor(ProgramOp program) {
    if (kind != "auto")
      return kind;
    PlanAttr plan = program.getPlanAttr();
    return plan && plan.getSchedule() ? plan.getSchedule().getValue() : "1f1b";
  }

  /// Writes the schedule of `program` behind it, in place of an older one.
  LogicalResult schedule(ProgramOp program) {
    FailureOr<Generator> generator =
        generatorOf(kindFor(program), program.getLoc());
    if (failed(generator) || failed(checkPlacement(program)))
      return failure();
    for (ScheduleOp old : llvm::to_vector(getOperation().getOps<ScheduleOp>()))
      if (programOf(old) == program)
        old.erase();

    StageGraph graph = stageGraphOf(program);
    Result<Schedule> made = generator->generate(
        {graph.stages, static_cast<int64_t>(program.getMicrobatches()),
         graph.forwardOnly});
    if (!made)
      return emitError(program.getLoc(), made.error().message);
    const Schedule &data = *made;
    OpBuilder builder(program->getContext());
    auto op = ScheduleOp::create(
        builder, program.getLoc(), builder.getStringAttr(generator->symbol),
        program.getSymNameAttr(), builder.getStringAttr(generator->name));
    builder.createBlock(&op.getBody());
    for (auto [rank, order] : llvm::enumerate(data.ranks)) {
      OrderOp::create(builder, program.getLoc(), rank, toString(order));
      numActions += order.size();
    }
    // Detached until here: the table renames it if another symbol has its name.
    SymbolTable(getOperation()).insert(op, std::next(program->getIterator()));
    return verifySchedule(op);
  }
};
} // namespace
} // namespace stagewright::pipeline
