//===- FlowAnalysis.cpp - pipeline-flow-analysis --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/FlowData.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_FLOWANALYSIS
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct FlowAnalysisPass : impl::FlowAnalysisBase<FlowAnalysisPass> {
  using FlowAnalysisBase::FlowAnalysisBase;

  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      mlir::FailureOr<int64_t> connections =
          writeFlows(program, /*withRates=*/false);
      if (failed(connections))
        return signalPassFailure();
      numConnections += *connections;
    }
  }
};
} // namespace
} // namespace stagewright::pipeline
