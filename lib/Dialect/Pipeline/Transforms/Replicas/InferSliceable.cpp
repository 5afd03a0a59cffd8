//===- InferSliceable.cpp - pipeline-infer-sliceable ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/Rows.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_INFERSLICEABLE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct InferSliceablePass : impl::InferSliceableBase<InferSliceablePass> {
  using InferSliceableBase::InferSliceableBase;

  void runOnOperation() override {
    if (failed(ensureGraph()))
      return signalPassFailure();
    for (GraphOp graph : getOperation().getOps<GraphOp>())
      mark(graph);
  }

  void mark(GraphOp graph) {
    GraphRows rows = rowsOf(graph);
    numMixing += rows.mixes.size();
    for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
      auto mix = rows.mixes.find(node.getLayer());
      if (mix == rows.mixes.end())
        continue;
      node.setSliceable(false);
      node.setMixes(StringRef(mix->second.reason));
    }
  }
};
} // namespace
} // namespace stagewright::pipeline
