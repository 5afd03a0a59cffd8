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

/// The first operation on tensors that has no form on buffers gets an error
/// that names it.
LogicalResult
checkOperations(func::FuncOp function,
                const bufferization::BufferizationOptions &options) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  WalkResult walk = function.walk([&](Operation *op) {
    if (options.dynCastBufferizableOp(op) ||
        !(llvm::any_of(op->getOperandTypes(), isTensor) ||
          llvm::any_of(op->getResultTypes(), isTensor)))
      return WalkResult::advance();
    op->emitError() << "operation '" << op->getName()
                    << "' has no native form; a step is made of linalg, "
                    << "tensor, arith, math and scf operations";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Most bytes that an iteration of a parallel loop may keep on the stack.
constexpr int64_t kMostStack = 2 << 20;

/// Puts what an iteration of a parallel loop makes for itself on the stack:
/// iterations that run at once must not share it. A loop that makes too much
/// runs its iterations in order, in the workspace.
void keepTilesApart(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (!loop->hasAttr(kParallel))
      return WalkResult::advance();
    SmallVector<memref::AllocOp> tiles;
    int64_t bytes = 0;
    loop.walk([&](memref::AllocOp alloc) {
      tiles.push_back(alloc);
      Type element = alloc.getType().getElementType();
      int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
      bytes += alloc.getType().getNumElements() * ((bits + 7) / 8);
    });
    if (bytes > kMostStack) {
      loop->removeAttr(kParallel);
      return WalkResult::advance();
    }
    for (memref::AllocOp alloc : tiles) {
      OpBuilder builder(alloc);
      auto tile =
          memref::AllocaOp::create(builder, alloc.getLoc(), alloc.getType(),
                                   builder.getI64IntegerAttr(kAlignment));
      for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      alloc.replaceAllUsesWith(tile.getResult());
      alloc.erase();
    }
    return WalkResult::skip();
  });
}

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
      if (failed(checkOperations(function, options)))
        return signalPassFailure();
      IRRewriter rewriter(&getContext());
      bufferization::BufferizationState state;
      // A slice that is only made to be inserted somewhere is made there.
      if (failed(bufferization::eliminateEmptyTensors(rewriter, function)) ||
          failed(bufferization::runOneShotBufferize(function, options, state)))
        return signalPassFailure();
      keepTilesApart(function);
    }
  }
};

} // namespace
} // namespace stagewright::host
