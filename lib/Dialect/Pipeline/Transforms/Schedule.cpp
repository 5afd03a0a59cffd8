//===- Schedule.cpp - pipeline-schedule -----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseSchedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ScheduleData.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SCHEDULE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// The schedule for kind `plan` if the plan of a program names none.
static constexpr StringLiteral kDefaultSchedule = "1f1b";
/// Max effort: at this value a search takes hours.
static constexpr double kMostEffort = 10000;

namespace {
struct SchedulePass : impl::ScheduleBase<SchedulePass> {
  using ScheduleBase::ScheduleBase;

  void runOnOperation() override {
    if (failed(checkOptions()) ||
        (getOperation().getOps<ProgramOp>().empty() && failed(partition())))
      return signalPassFailure();
    for (ProgramOp program :
         llvm::to_vector(getOperation().getOps<ProgramOp>()))
      if (failed(schedule(program)))
        return signalPassFailure();
  }

  LogicalResult checkOptions() {
    Location loc = getOperation().getLoc();
    if (kind != "plan" && kind != "auto") {
      Result<Generator> generator = findGenerator(kind);
      if (!generator)
        return emitError(loc) << generator.error().message
                              << ", plan (what the plan was made for) and "
                              << "auto (the best that is found)";
    }
    if (objective != "makespan" && objective != "span")
      return emitError(loc) << "objective must be makespan or span, got '"
                            << objective.getValue() << "'";
    if (group < 0)
      return emitError(loc) << "group must be at least 1, or 0 for the "
                            << "schedule's own choice, got " << int64_t(group);
    if (!(effort >= 0 && effort <= kMostEffort))
      return emitError(loc) << "effort must be from 0 to " << kMostEffort
                            << ", got " << double(effort);
    if (csv.empty())
      return success();
    if (kind != "plan")
      return emitError(loc) << "orders come from kind=" << kind.getValue()
                            << " or from a file, not both";
    FailureOr<Schedule> read = readScheduleFile(loc, csv);
    if (failed(read))
      return failure();
    given = *read;
    return success();
  }

  /// Makes a program whose stages are placed as the schedule requires.
  LogicalResult partition() {
    PartitionOptions options;
    options.maxReplicas = 1;
    if (kind == "auto")
      options.chunks = 1;
    bool apart = kind == "auto" && split;
    if (Result<Generator> generator = findGenerator(kind)) {
      apart = generator->splitsBackward;
      options.schedule = kind;
      options.chunks = generator->leastChunks;
      options.placement = toString(generator->placement);
    }
    if (given) {
      FailureOr<StagePlacement> where =
          placementOf(getOperation().getLoc(), *given);
      if (failed(where))
        return failure();
      apart = splitsBackward(*given);
      options.stages = given->stages;
      options.microbatches = given->microbatches;
      options.chunks = where->spare == 0 ? where->chunks : 0;
      options.placement = toString(where->placement);
    }
    if (failed(ensureUnifiedGraph(apart)))
      return failure();
    return run(createPartition(options));
  }

  /// The kind of the option, else the one that `program` was planned for.
  StringRef kindFor(ProgramOp program) {
    if (kind != "plan")
      return kind;
    PlanAttr plan = program.getPlanAttr();
    return plan && plan.getSchedule() ? plan.getSchedule().getValue()
                                      : StringRef(kDefaultSchedule);
  }

  /// The orders of `program`: from a file, a search or a generator.
  FailureOr<Schedule> ordersOf(ProgramOp program) {
    if (given)
      return takeGiven(program, *given);
    if (kind == "auto") {
      AutoScheduleOptions options;
      options.objective = objective == "span" ? ScheduleObjective::Span
                                              : ScheduleObjective::Makespan;
      options.effort = effort;
      options.split = split;
      options.recompute = recompute || llvm::is_contained(again(program), true);
      return searchFor(program, options);
    }
    Result<Generator> generator = findGenerator(kindFor(program));
    if (!generator)
      return emitError(program.getLoc()) << generator.error().message;
    return generateFor(program, *generator, group);
  }

  /// By stage: whether its forward runs again before the backward.
  static std::vector<bool> again(ProgramOp program) {
    std::vector<bool> stages;
    for (StageOp stage : program.getBody().front().getOps<StageOp>())
      stages.push_back(stage.getRecompute());
    return stages;
  }

  LogicalResult schedule(ProgramOp program) {
    FailureOr<Schedule> orders = ordersOf(program);
    if (failed(orders) || failed(checkHalves(program, *orders)))
      return failure();
    // A search decides itself which forwards run again, and so may a file.
    if (kind != "auto" && !runs(*orders, ActionKind::Recompute))
      *orders = runAgain(std::move(*orders), again(program));
    Result<Generator> generator = findGenerator(orders->kind);
    return write(program, *orders,
                 generator ? StringRef(generator->symbol) : orders->kind);
  }

  /// Inserts a schedule after `program`, replacing an older one.
  LogicalResult write(ProgramOp program, const Schedule &data,
                      StringRef symbol) {
    for (ScheduleOp old : llvm::to_vector(getOperation().getOps<ScheduleOp>()))
      if (programOf(old) == program)
        old.erase();
    OpBuilder builder(program->getContext());
    auto op = ScheduleOp::create(
        builder, program.getLoc(), builder.getStringAttr(symbol),
        program.getSymNameAttr(), builder.getStringAttr(data.kind),
        /*credits=*/DenseI64ArrayAttr());
    builder.createBlock(&op.getBody());
    for (auto [rank, order] : llvm::enumerate(data.ranks)) {
      OrderOp::create(builder, program.getLoc(), rank, order);
      numActions += order.size();
    }
    // The schedule is inserted only here: the symbol table renames it if its
    // name is taken.
    SymbolTable(getOperation()).insert(op, std::next(program->getIterator()));
    return verifySchedule(op);
  }

  std::optional<Schedule> given; ///< Read from a file.
};
} // namespace
} // namespace stagewright::pipeline
