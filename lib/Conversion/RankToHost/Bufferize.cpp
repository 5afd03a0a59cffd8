//===- Bufferize.cpp - bodies on buffers -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTBUFFERIZE
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct HostBufferizePass : impl::HostBufferizeBase<HostBufferizePass> {
  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options;
    options.allowReturnAllocsFromLoops = true;
    options.bufferAlignment = kAlignment;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isBody(function))
        continue;
      if (function.getNumResults() != 0) {
        function.emitError(
            "body still returns tensors; run host-pass-destinations first");
        return signalPassFailure();
      }
      IRRewriter rewriter(&getContext());
      bufferization::BufferizationState state;
      // A slice that is only made to be inserted somewhere is made there.
      if (failed(bufferization::eliminateEmptyTensors(rewriter, function)) ||
          failed(bufferization::runOneShotBufferize(function, options, state)))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace stagewright::host
