//===- Bufferize.cpp - bodies on buffers -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "BufferPlace.h"
#include "CopiedBuffers.h"
#include "VerifyBuffers.h"
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

/// The tensors with which an iteration of `loop` begins, by carried value; null
/// where the operation that ends the iteration cannot name it.
SmallVector<Value> findStarts(LoopLikeOpInterface loop) {
  auto open = dyn_cast<scf::WhileOp>(*loop);
  if (!open)
    return SmallVector<Value>(loop.getRegionIterArgs());
  SmallVector<Value> starts;
  for (Value before : open.getBeforeArguments()) {
    auto passed = llvm::find(open.getConditionOp().getArgs(), before);
    unsigned index = passed - open.getConditionOp().getArgs().begin();
    starts.push_back(index < open.getAfterArguments().size()
                         ? open.getAfterArguments()[index]
                         : Value());
  }
  return starts;
}

/// Lets an open loop hand on what it began an iteration with, where the
/// analysis would hand on a copy of it: the copy's buffer is not that of the
/// start.
void handOn(scf::WhileOp loop) {
  for (OpOperand &operand : loop.getConditionOp().getArgsMutable())
    if (auto copy = operand.get().getDefiningOp<bufferization::AllocTensorOp>())
      if (llvm::is_contained(loop.getBeforeArguments(), copy.getCopy())) {
        operand.set(copy.getCopy());
        if (copy->use_empty())
          copy->erase();
      }
}

/// Puts what an iteration leaves where the next one looks for it, at its end: a
/// temporary of a loop is one buffer for all iterations, so a value left in one
/// would be written over by the iteration that reads it. What lies where
/// another value is to go (a swap) is copied first. Expects a body of which
/// every operation writes in place.
void carryInPlace(func::FuncOp function,
                  const bufferization::BufferizationOptions &options) {
  bufferization::AnalysisState state(options);
  function.walk([&](LoopLikeOpInterface loop) {
    Operation *end = nullptr;
    if (auto counted = dyn_cast<scf::ForOp>(*loop))
      end = counted.getBody()->getTerminator();
    else if (auto open = dyn_cast<scf::WhileOp>(*loop)) {
      handOn(open);
      end = open.getYieldOp();
    }
    if (!end)
      return;
    BufferPlaces places(state);
    SmallVector<Value> starts = findStarts(loop);
    SmallVector<OpOperand *> moved;
    for (OpOperand &operand : end->getOpOperands()) {
      Value start = starts[operand.getOperandNumber()];
      if (isa<TensorType>(operand.get().getType()) && start &&
          places.of(operand.get()) != places.of(start))
        moved.push_back(&operand);
    }
    auto isInTheWay = [&](OpOperand *operand) {
      return llvm::any_of(places.of(operand->get()), [&](BufferPlace from) {
        return llvm::any_of(moved, [&](OpOperand *other) {
          Value start = starts[other->getOperandNumber()];
          return llvm::any_of(places.of(start), [&](BufferPlace to) {
            return from.mayOverlap(to);
          });
        });
      });
    };
    OpBuilder builder(end);
    SmallVector<Value> values;
    for (OpOperand *operand : moved) {
      Value value = operand->get();
      if (isInTheWay(operand))
        value = bufferization::AllocTensorOp::create(
            builder, end->getLoc(), cast<RankedTensorType>(value.getType()),
            ValueRange(), value);
      values.push_back(value);
    }
    for (auto [operand, value] : llvm::zip_equal(moved, values))
      operand->set(bufferization::MaterializeInDestinationOp::create(
                       builder, end->getLoc(), value.getType(), value,
                       starts[operand->getOperandNumber()])
                       .getResult());
  });
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

/// A view that takes steps and drops dimensions becomes two, each of which does
/// one of the two: SubViewOp::getDroppedDims of MLIR 22.1 compares the strides
/// of the result with those of the source, without the steps, and fails.
void splitSteppedViews(func::FuncOp body) {
  body.walk([](memref::SubViewOp view) {
    bool steps = llvm::any_of(view.getStaticStrides(),
                              [](int64_t step) { return step != 1; });
    if (!steps || view.getType().getRank() == view.getSourceType().getRank())
      return;
    OpBuilder builder(view);
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    SmallVector<OpFoldResult> sizes = view.getMixedSizes();
    auto stepped = memref::SubViewOp::create(
        builder, view.getLoc(), view.getSource(), view.getMixedOffsets(), sizes,
        view.getMixedStrides());
    auto dropped = memref::SubViewOp::create(
        builder, view.getLoc(), view.getType(), stepped,
        SmallVector<OpFoldResult>(sizes.size(), zero), sizes,
        SmallVector<OpFoldResult>(sizes.size(), one));
    view.replaceAllUsesWith(dropped.getResult());
    view.erase();
  });
}

/// The slice in whose memory `value` lies, or is written; null if none.
tensor::ExtractSliceOp sliceBehind(Value value) {
  while (true) {
    auto result = dyn_cast<OpResult>(value);
    Operation *op = result ? result.getOwner() : nullptr;
    if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
      return slice;
    if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op))
      value = insert.getDest();
    else if (auto styled = dyn_cast_or_null<DestinationStyleOpInterface>(op))
      value = styled.getTiedOpOperand(result)->get();
    else if (auto loop = dyn_cast_or_null<scf::ForOp>(op))
      value = loop.getInitArgs()[result.getResultNumber()];
    else
      return {};
  }
}

/// Where one branch yields what lies in a slice and another does not, or has
/// its own copy of it, the result would have a layout that is known at run time
/// only, which no kernel takes: such a value is copied.
void copyYieldedSlices(func::FuncOp body) {
  body.walk([](scf::IfOp choice) {
    if (choice.getNumResults() == 0)
      return;
    for (scf::YieldOp yield : {choice.thenYield(), choice.elseYield()})
      for (OpOperand &operand : yield->getOpOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        if (!type || !sliceBehind(operand.get()))
          continue;
        OpBuilder builder(yield);
        operand.set(bufferization::AllocTensorOp::create(
            builder, yield.getLoc(), type, ValueRange(), operand.get()));
      }
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
      copyYieldedSlices(function);
      IRRewriter rewriter(&getContext());
      bufferization::BufferizationState state;
      // A slice that is only made to be inserted somewhere is made there.
      if (failed(bufferization::eliminateEmptyTensors(rewriter, function)) ||
          failed(bufferization::insertTensorCopies(function, options, state)))
        return signalPassFailure();
      carryInPlace(function, options);
      if (failed(verifyBuffers(function)) ||
          failed(bufferization::bufferizeOp(function, options, state)))
        return signalPassFailure();
      writeWhereCopied(function);
      splitSteppedViews(function);
      keepTilesApart(function);
    }
  }
};

} // namespace
} // namespace stagewright::host
