//===- MakeLoops.cpp - operations on buffers as loops over vectors --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTMAKELOOPS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct HostMakeLoopsPass : impl::HostMakeLoopsBase<HostMakeLoopsPass> {
  using HostMakeLoopsBase::HostMakeLoopsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp copy : copies) {
      if (!cast<MemRefType>(copy.getTarget().getType()).hasStaticShape())
        continue;
      rewriter.setInsertionPoint(copy);
      linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                               copy.getTarget());
      copy.erase();
    }
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (succeeded(makeLoops(rewriter, op))) {
        ++numVector;
      } else if (succeeded(linalg::linalgOpToLoops(rewriter, op))) {
        ++numScalar;
      } else {
        op.emitError() << "operation has no loops";
        return signalPassFailure();
      }
      op.erase();
    }
  }

  LogicalResult makeLoops(OpBuilder &builder, linalg::LinalgOp op) {
    FailureOr<LoopSpace> space = LoopSpace::get(builder, op);
    if (failed(space))
      return failure();
    FailureOr<LoopPlan> plan = LoopPlan::get(*space, vectorBits);
    if (failed(plan))
      return failure();
    LoopNest(builder, *space, *plan).write();
    return success();
  }
};

} // namespace
} // namespace stagewright::host
