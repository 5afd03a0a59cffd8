//===- PrintLayouts.cpp - pipeline-print-layouts --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/ExplainLayouts.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_PRINTLAYOUTS
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

struct PrintLayoutsPass : impl::PrintLayoutsBase<PrintLayoutsPass> {
  using PrintLayoutsBase::PrintLayoutsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module.getOps<GraphOp>().empty()) {
      emitError(module.getLoc()) << "pipeline-print-layouts analyses a step, "
                                    "but the module has a graph";
      return signalPassFailure();
    }
    auto step = ensureStep();
    if (failed(step))
      return signalPassFailure();
    FailureOr<std::string> text = explainLayouts(*step, ways);
    if (failed(text))
      return signalPassFailure();
    llvm::outs() << *text;
  }
};

} // namespace
} // namespace stagewright::pipeline
