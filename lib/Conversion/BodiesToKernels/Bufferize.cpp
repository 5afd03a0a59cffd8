//===- Bufferize.cpp - body-bufferize: tensors to buffers -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "Branches.h"
#include "BufferPlace.h"
#include "CopiedBuffers.h"
#include "VerifyBuffers.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYBUFFERIZE
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// Emits an error for the first operation on tensors that cannot be
/// bufferized.
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

/// For each carried value of `loop`, its tensor at the start of an iteration;
/// null if the terminator of the iteration cannot refer to it.
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

/// If the analysis inserted copies of `before` arguments of an scf.while, makes
/// the condition pass on the arguments themselves: a copy is in another buffer.
void handOn(scf::WhileOp loop) {
  for (OpOperand &operand : loop.getConditionOp().getArgsMutable())
    if (auto copy = operand.get().getDefiningOp<bufferization::AllocTensorOp>())
      if (llvm::is_contained(loop.getBeforeArguments(), copy.getCopy())) {
        operand.set(copy.getCopy());
        if (copy->use_empty())
          copy->erase();
      }
}

/// Copies the values that an iteration yields, at its end, to the buffers in
/// which the next iteration expects them. A temporary of a loop has one buffer
/// for all iterations, so a value left there would be overwritten by the
/// iteration that reads it. If the buffer of a value is the target of another
/// of these copies (a swap), the value is saved first. Expects that all
/// operations write in place.
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

/// Max bytes that an iteration of a parallel loop may allocate on the stack.
constexpr int64_t kMostStack = 2 << 20;

/// Allocates the temporaries of an iteration of a parallel loop on the stack,
/// since concurrent iterations must not share them. If they are too large, the
/// loop becomes sequential and they stay in the workspace.
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

/// Splits a subview that has strides and drops dimensions into two that each do
/// one of these: SubViewOp::getDroppedDims of MLIR 22.1 compares the strides of
/// result and source, ignores those of the subview itself, and fails.
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

/// The insertions, last first, that make `array` from a tensor.empty; empty if
/// it does not begin with one.
SmallVector<tensor::InsertSliceOp> partsOf(Value array) {
  SmallVector<tensor::InsertSliceOp> parts;
  while (auto insert = array.getDefiningOp<tensor::InsertSliceOp>()) {
    parts.push_back(insert);
    array = insert.getDest();
  }
  if (!array.getDefiningOp<tensor::EmptyOp>())
    parts.clear();
  return parts;
}

/// If several arrays are made by insertions into one shared array of parts,
/// repeats the insertions of the shared parts for each array but the last.
/// Otherwise the whole shared array would be copied, including the bytes that
/// are not yet written.
void repeatSharedParts(func::FuncOp body) {
  SmallVector<tensor::InsertSliceOp> insertions(
      body.front().getOps<tensor::InsertSliceOp>());
  for (tensor::InsertSliceOp insert : insertions) {
    Value shared = insert.getDest();
    bool isLast = llvm::none_of(shared.getUsers(), [&](Operation *user) {
      auto other = dyn_cast<tensor::InsertSliceOp>(user);
      return other && other.getDest() == shared &&
             other->getBlock() == insert->getBlock() &&
             insert->isBeforeInBlock(other);
    });
    if (isLast)
      continue;
    SmallVector<tensor::InsertSliceOp> parts = partsOf(shared);
    if (parts.empty())
      continue;
    OpBuilder builder(insert);
    Value array =
        builder.clone(*parts.back().getDest().getDefiningOp())->getResult(0);
    for (tensor::InsertSliceOp part : llvm::reverse(parts)) {
      auto copy = cast<tensor::InsertSliceOp>(builder.clone(*part));
      copy.getDestMutable().assign(array);
      array = copy.getResult();
    }
    insert.getDestMutable().assign(array);
  }
}

struct BodyBufferizePass : impl::BodyBufferizeBase<BodyBufferizePass> {
  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options;
    options.allowReturnAllocsFromLoops = true;
    options.bufferAlignment = kAlignment;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isBody(function))
        continue;
      if (function.getNumResults() != 0) {
        function.emitError(
            "body still returns tensors; run body-pass-destinations first");
        return signalPassFailure();
      }
      if (failed(checkOperations(function, options)))
        return signalPassFailure();
      updateBranchesInPlace(function);
      copyYieldedSlices(function);
      repeatSharedParts(function);
      IRRewriter rewriter(&getContext());
      bufferization::BufferizationState state;
      // A tensor that is only inserted into another one is computed there.
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
} // namespace stagewright::bodies
