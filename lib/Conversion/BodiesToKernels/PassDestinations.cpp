//===- PassDestinations.cpp - results in buffers of the caller ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contractions/Triangle.h"
#include "InPlaceLoops.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYPASSDESTINATIONS
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// Gives every user its own `tensor.empty` and fill. CSE merges them across the
/// body; bufferization of a shared one takes quadratic time and adds a copy for
/// each user.
void unshare(func::FuncOp function, OpBuilder &builder) {
  auto cloneForUses = [&](Operation *op) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getResult(0).getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::drop_begin(uses)) {
      builder.setInsertionPoint(use->getOwner());
      use->set(builder.clone(*op)->getResult(0));
    }
    if (uses.size() > 1)
      op->moveBefore(uses.front()->getOwner());
  };
  SmallVector<Operation *> fills, empties;
  function.walk([&](linalg::FillOp op) { fills.push_back(op); });
  for (Operation *fill : fills)
    if (!fill->use_empty())
      cloneForUses(fill);
  function.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  for (Operation *empty : empties)
    if (!empty->use_empty())
      cloneForUses(empty);
}

/// Replaces contractions by `rank.contract`, and lets these overwrite a zero
/// fill, which saves the fill.
void overwriteZeros(func::FuncOp function) {
  function.walk([](linalg::ContractOp op) {
    auto isFloat = [](Type type) {
      return isa<FloatType>(getElementTypeOrSelf(type));
    };
    if (op.hasDynamicShape() || !llvm::all_of(op->getOperandTypes(), isFloat))
      return; // It becomes loops.
    OpBuilder builder(op);
    auto made =
        rank::ContractOp::create(builder, op.getLoc(), rank::Update::Accumulate,
                                 op.getIndexingMapsArray(), op.getInputs()[0],
                                 op.getInputs()[1], op.getOutputs()[0]);
    if (auto triangle = triangleOf(op))
      made.setTriangle(*triangle);
    op->replaceAllUsesWith(made);
    op->erase();
  });
  function.walk([](rank::ContractOp op) {
    auto fill = op.getWritten().getDefiningOp<linalg::FillOp>();
    if (!fill || !isZero(fill.getResult(0)))
      return;
    op.getWrittenMutable().assign(fill.getOutputs()[0]);
    op.setUpdate(rank::Update::Overwrite);
    if (fill->use_empty())
      fill.erase();
  });
}

/// Finds the `tensor.empty` that the destination of a result can replace. At
/// the end every result is materialized in its destination, a write that
/// one-shot analysis does not see. So no other result may be in the same
/// buffer.
class DestinationFinder {
public:
  explicit DestinationFinder(ArrayRef<Value> results)
      : state(options), results(results.begin(), results.end()) {}

  /// The `tensor.empty` at which the chain of destinations of `result` starts,
  /// or null. Appends the reshapes of the chain to `reshapes`, the last one
  /// first.
  tensor::EmptyOp findStart(Value result,
                            SmallVectorImpl<Operation *> &reshapes) {
    Value value = result;
    while (Operation *op = value.getDefiningOp()) {
      // Another writer or result would use the buffer of this result.
      if (countWriters(value) > 1 ||
          (value != result && isReturnedBeside(value, result)))
        return {};
      if (auto empty = dyn_cast<tensor::EmptyOp>(op))
        return empty->hasOneUse() ? empty : tensor::EmptyOp();
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
        reshapes.push_back(op);
        value = op->getOperand(0);
        continue;
      }
      OpOperand *destination = findDestination(cast<OpResult>(value));
      if (!destination)
        return {};
      value = destination->get();
    }
    return {};
  }

private:
  /// Number of operations that may write results into the buffer of `value`.
  static unsigned countWriters(Value value) {
    unsigned writers = 0;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
        writers += countWriters(op->getResult(0));
      else
        writers += llvm::any_of(op->getResults(), [&](OpResult result) {
          return findDestination(result) == &use;
        });
    }
    return writers;
  }

  /// Whether `value`, or an alias of it made without a write, is a result other
  /// than `result`.
  bool isReturnedBeside(Value value, Value result) {
    if (value == result)
      return false;
    if (results.contains(value))
      return true;
    for (OpOperand &use : value.getUses()) {
      if (!state.getOptions().dynCastBufferizableOp(use.getOwner()) ||
          state.bufferizesToMemoryWrite(use))
        continue;
      for (bufferization::AliasingValue alias : state.getAliasingValues(use))
        if (isReturnedBeside(alias.value, result))
          return true;
    }
    return false;
  }

  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state;
  llvm::DenseSet<Value> results;
};

struct BodyPassDestinationsPass
    : impl::BodyPassDestinationsBase<BodyPassDestinationsPass> {
  using BodyPassDestinationsBase::BodyPassDestinationsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    if (!isBody(function) ||
        !llvm::all_of(function.getArgumentTypes(), isTensor) ||
        !llvm::all_of(function.getResultTypes(), isTensor) ||
        function.getNumResults() == 0)
      return;
    auto dynamic = [](Type type) {
      return !cast<RankedTensorType>(type).hasStaticShape();
    };
    if (llvm::any_of(function.getArgumentTypes(), dynamic) ||
        llvm::any_of(function.getResultTypes(), dynamic)) {
      function.emitError("body has a dynamic shape in its signature; every "
                         "shape must be static");
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    unshare(function, builder);
    overwriteZeros(function);
    rewriteSignature(function, builder);
  }

  void rewriteSignature(func::FuncOp function, OpBuilder &builder) {
    Block &body = function.front();
    auto terminator = cast<func::ReturnOp>(body.getTerminator());
    SmallVector<Value> results(terminator.getOperands());
    SmallVector<DictionaryAttr> inputAttrs, resultAttrs, sumAttrs;
    SmallVector<BlockArgument> inputs, sums;
    for (BlockArgument argument : function.getArguments()) {
      DictionaryAttr attrs = function.getArgAttrDict(argument.getArgNumber());
      bool sum = attrs && attrs.contains(kAccumulate);
      (sum ? sums : inputs).push_back(argument);
      (sum ? sumAttrs : inputAttrs).push_back(attrs);
    }
    if (sums.size() > results.size()) {
      function.emitError() << "body accumulates into " << sums.size()
                           << " arguments but has " << results.size()
                           << " results";
      return signalPassFailure();
    }
    size_t numResults = results.size() - sums.size();
    auto bufferType = [](Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      return MemRefType::get(type.getShape(), type.getElementType());
    };

    // New arguments: inputs, results, accumulators. The old are erased below.
    unsigned old = body.getNumArguments();
    SmallVector<Value> destinations;
    builder.setInsertionPointToStart(&body);
    auto enter = [&](BlockArgument argument, bool writable) {
      BlockArgument buffer =
          body.addArgument(bufferType(argument), argument.getLoc());
      Value tensor = bufferization::ToTensorOp::create(
          builder, argument.getLoc(), argument.getType(), buffer,
          /*restrict=*/true, writable);
      argument.replaceAllUsesWith(tensor);
      return std::pair<Value, Value>(buffer, tensor);
    };
    for (BlockArgument input : inputs)
      enter(input, /*writable=*/false);
    for (Value result : ArrayRef(results).take_front(numResults))
      destinations.push_back(
          body.addArgument(bufferType(result), result.getLoc()));
    SmallVector<Value> sumTensors;
    for (BlockArgument sum : sums) {
      auto [buffer, tensor] = enter(sum, /*writable=*/true);
      destinations.push_back(buffer);
      sumTensors.push_back(tensor);
    }
    results.assign(terminator.operand_begin(), terminator.operand_end());

    // Start the chain of each result in its destination, then materialize each
    // result there.
    DestinationFinder finder(results);
    for (auto [i, result] : llvm::enumerate(results)) {
      SmallVector<Operation *> reshapes;
      tensor::EmptyOp start = finder.findStart(result, reshapes);
      if (!start) {
        numCopies += i < numResults;
        continue;
      }
      builder.setInsertionPoint(start);
      Value tensor = i < numResults ? bufferization::ToTensorOp::create(
                                          builder, result.getLoc(),
                                          result.getType(), destinations[i],
                                          /*restrict=*/true, /*writable=*/true)
                                    : sumTensors[i - numResults];
      for (Operation *reshape : reshapes) {
        Type source = reshape->getOperand(0).getType();
        if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
          tensor = tensor::CollapseShapeOp::create(
              builder, reshape->getLoc(), source, tensor,
              expand.getReassociationIndices());
        else
          tensor = tensor::ExpandShapeOp::create(
              builder, reshape->getLoc(), source, tensor,
              cast<tensor::CollapseShapeOp>(reshape).getReassociationIndices());
      }
      start.getResult().replaceAllUsesWith(tensor);
      start.erase();
      readWhatIsCarried(tensor);
    }
    builder.setInsertionPoint(terminator);
    for (auto [result, destination] : llvm::zip_equal(results, destinations))
      bufferization::MaterializeInDestinationOp::create(
          builder, result.getLoc(), Type(), result, destination,
          /*restrict=*/false, /*writable=*/true);
    terminator.getOperandsMutable().clear();

    body.eraseArguments(0, old);
    resultAttrs.assign(numResults, builder.getDictionaryAttr({}));
    SmallVector<DictionaryAttr> attrs = inputAttrs;
    llvm::append_range(attrs, resultAttrs);
    llvm::append_range(attrs, sumAttrs);
    for (DictionaryAttr &attr : attrs)
      if (!attr)
        attr = builder.getDictionaryAttr({});
    function.setType(builder.getFunctionType(body.getArgumentTypes(), {}));
    function.setAllArgAttrs(attrs);
    function.setAllResultAttrs(ArrayRef<DictionaryAttr>{});
  }
};

} // namespace
} // namespace stagewright::bodies
