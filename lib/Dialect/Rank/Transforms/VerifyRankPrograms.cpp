//===- VerifyRankPrograms.cpp - verify-rank-programs ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Passes.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "stagewright/Scheduling/Segments.h"
#include "stagewright/Support/Limits.h"

namespace stagewright::rank {
#define GEN_PASS_DEF_VERIFYRANKPROGRAMS
#include "stagewright/Dialect/Rank/Transforms/Passes.h.inc"

/// Reports `fault` at the operations that cause it. Each origin is an operation
/// that unroll() gave to the machine, so the cast is valid.
static void report(const Fault &fault) {
  auto operation = [](const void *origin) {
    return const_cast<Operation *>(static_cast<const Operation *>(origin));
  };
  InFlightDiagnostic error = emitError(operation(fault.error.origin)->getLoc())
                             << fault.error.message;
  for (const Fault::Place &note : fault.notes)
    error.attachNote(operation(note.origin)->getLoc()) << note.message;
}

namespace {

struct VerifyRankProgramsPass
    : impl::VerifyRankProgramsBase<VerifyRankProgramsPass> {
  using VerifyRankProgramsBase::VerifyRankProgramsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (microbatches < 0 || microbatches > stagewright::kMostMicrobatches) {
      emitError(module.getLoc())
          << "number of microbatches must be from 1 to "
          << stagewright::kMostMicrobatches
          << ", or 0 for that of the programs, got " << microbatches.getValue();
      return signalPassFailure();
    }
    auto programs = llvm::to_vector(module.getOps<ProgramOp>());
    bool forOne =
        llvm::any_of(programs, [](ProgramOp op) { return op.getOnly(); });
    if (forms && !forOne)
      for (int64_t m : stagewright::formsOfLoops(int64_t(programs.size())))
        if (failed(verify(m)))
          return signalPassFailure();
    if (failed(verify(microbatches)) || failed(updateMemory(module)))
      signalPassFailure();
  }

  LogicalResult verify(int64_t count) {
    FailureOr<Machine> machine = unroll(getOperation(), count);
    if (failed(machine))
      return failure();
    for (const RankEvents &rank : machine->ranks)
      numEvents += rank.events.size();
    std::optional<Fault> fault = checkSums(*machine);
    if (!fault)
      fault = linkRows(*machine);
    if (!fault)
      fault = run(*machine);
    if (!fault)
      fault = checkOrder(*machine);
    for (const RankEvents &rank : machine->ranks)
      if (!fault)
        fault = checkPlaces(rank);
    if (fault)
      report(*fault);
    return failure(fault.has_value());
  }
};

} // namespace

} // namespace stagewright::rank
