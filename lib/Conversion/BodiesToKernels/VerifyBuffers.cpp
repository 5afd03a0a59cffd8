//===- VerifyBuffers.cpp - no value overwritten before it is read ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyBuffers.h"
#include "BufferPlace.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYVERIFYBUFFERS
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// One operation that changes a buffer.
struct Write {
  Operation *op;
  BufferPlace place;
};

/// Where the contents of a value are defined: when `op` ends or, for an
/// argument, when it starts.
struct Definition {
  Operation *op;
  bool isArgument = false;
};

class BufferVerifier {
public:
  explicit BufferVerifier(func::FuncOp function)
      : function(function), state(options), places(state) {}

  LogicalResult run() {
    number(function);
    function.walk([&](Operation *op) { collectWrites(op); });
    WalkResult walk = function.walk([&](Operation *op) {
      return failed(verify(op)) ? WalkResult::interrupt()
                                : WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

private:
  /// Numbers the start and the end of every operation in program order.
  void number(Operation *op) {
    start[op] = clock++;
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        number(&inner);
    end[op] = clock++;
  }

  static bool isStructured(Operation *op) {
    return isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op);
  }

  void collectWrites(Operation *op) {
    if (isStructured(op) || isa<scf::YieldOp, scf::ConditionOp>(op))
      return;
    auto add = [&](const BufferPlace &place) {
      writes[place.root].push_back({op, place});
    };
    if (auto put = dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
      for (const BufferPlace &place : places.of(put.getDest()))
        if (!isAt(put.getSource(), place))
          add(place);
      return;
    }
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      for (const BufferPlace &place : places.of(insert.getDest())) {
        BufferPlace box =
            BufferPlaces::cut(place, insert.getDestType().getShape(), insert);
        if (!isAt(insert.getSource(), box))
          add(box);
      }
      return;
    }
    if (!options.dynCastBufferizableOp(op))
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<TensorType>(operand.get().getType()) &&
          state.bufferizesToMemoryWrite(operand))
        for (const BufferPlace &place : places.of(operand.get()))
          add(place);
  }

  /// Whether `value` is at `place` already, so that storing it there is no
  /// write.
  bool isAt(Value value, const BufferPlace &place) {
    return llvm::all_of(places.of(value),
                        [&](const BufferPlace &own) { return own == place; });
  }

  /// Collects where the contents of `value` were written; nothing if they are
  /// undefined (tensor.empty).
  void collectDefinitions(Value value, SmallVectorImpl<Definition> &found) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      auto loop = dyn_cast<scf::WhileOp>(parent);
      if (loop && argument.getOwner() == loop.getAfterBody())
        found.push_back({loop.getConditionOp()});
      else
        found.push_back({parent, /*isArgument=*/true});
      return;
    }
    Operation *op = value.getDefiningOp();
    if (isa<tensor::EmptyOp>(op))
      return;
    if (auto alloc = dyn_cast<bufferization::AllocTensorOp>(op);
        alloc && !alloc.getCopy())
      return;
    bool writes = true;
    if (!isStructured(op) && options.dynCastBufferizableOp(op)) {
      SmallVector<Value> sources;
      for (bufferization::AliasingOpOperand alias :
           state.getAliasingOpOperands(value))
        if (!state.bufferizesToMemoryWrite(*alias.opOperand))
          sources.push_back(alias.opOperand->get());
      writes = sources.empty();
      for (Value source : sources)
        collectDefinitions(source, found);
    }
    if (writes)
      found.push_back({op});
  }

  LogicalResult verify(Operation *op) {
    if (auto yield = dyn_cast<scf::YieldOp>(op))
      if (failed(verifyCarried(yield)))
        return failure();
    for (OpOperand &operand : op->getOpOperands())
      if (isa<TensorType>(operand.get().getType()) && isRead(operand) &&
          failed(verifyRead(operand)))
        return failure();
    return success();
  }

  bool isRead(OpOperand &operand) {
    Operation *op = operand.getOwner();
    if (isa<bufferization::MaterializeInDestinationOp>(op))
      return operand.getOperandNumber() == 0;
    if (isStructured(op) || isa<scf::YieldOp, scf::ConditionOp>(op))
      return true;
    return options.dynCastBufferizableOp(op) &&
           state.bufferizesToMemoryRead(operand);
  }

  /// A carried value must be in the buffer in which the next iteration reads
  /// it.
  LogicalResult verifyCarried(scf::YieldOp yield) {
    auto loop = dyn_cast<LoopLikeOpInterface>(yield->getParentOp());
    if (!loop)
      return success();
    for (auto [i, value] : llvm::enumerate(yield.getOperands()))
      if (isa<TensorType>(value.getType()) &&
          places.of(value) != places.of(loop.getRegionIterArgs()[i]))
        return yield.emitError()
               << "value " << i << " that the loop carries is left in a buffer "
               << "other than the one that the next iteration reads; this is a "
               << "fault of body-bufferize, not of the model";
    return success();
  }

  LogicalResult verifyRead(OpOperand &operand) {
    Value value = operand.get();
    SmallVector<Definition> definitions;
    collectDefinitions(value, definitions);
    for (const BufferPlace &place : places.of(value))
      for (const Write &write : writes[place.root]) {
        if (write.op == operand.getOwner() || !place.mayOverlap(write.place) ||
            isKept(operand, write))
          continue;
        for (const Definition &definition : definitions)
          if (mayComeBetween(definition, write.op, operand.getOwner()))
            return report(operand, write.op);
      }
    return success();
  }

  /// Whether `write` changes no element that the owner of `operand` needs. An
  /// insertion does not need the box of its destination that it overwrites, nor
  /// does a copy that is made only for that insertion.
  bool isKept(OpOperand &operand, const Write &write) {
    OpOperand *into = &operand;
    if (auto copy = dyn_cast<bufferization::AllocTensorOp>(operand.getOwner());
        copy && copy->hasOneUse())
      into = &*copy->use_begin();
    auto insert = dyn_cast<tensor::InsertSliceOp>(into->getOwner());
    if (!insert || *into != insert.getDestMutable())
      return false;
    return llvm::any_of(places.of(operand.get()), [&](BufferPlace place) {
      return write.place.isInside(
          BufferPlaces::cut(place, insert.getDestType().getShape(), insert));
    });
  }

  bool mayComeBetween(const Definition &definition, Operation *write,
                      Operation *read) {
    if (definition.op == write && !definition.isArgument)
      return false;
    int made =
        definition.isArgument ? start[definition.op] : end[definition.op];
    if (made < start[write] && start[write] < start[read])
      return !state.insideMutuallyExclusiveRegions(write, read);
    // A write after the read matters if the next iteration reads the value
    // again.
    for (Operation *loop = read->getParentOp(); loop != function;
         loop = loop->getParentOp()) {
      if (loop->isAncestor(definition.op))
        return false;
      if (isa<LoopLikeOpInterface>(loop) && loop->isAncestor(write))
        return true;
    }
    return false;
  }

  LogicalResult report(OpOperand &operand, Operation *write) {
    InFlightDiagnostic error =
        operand.getOwner()->emitError()
        << "operand " << operand.getOperandNumber() << " of '"
        << operand.getOwner()->getName()
        << "' is read from a buffer that another operation has written since; "
        << "this is a fault of the lowering, not of the model";
    error.attachNote(operand.get().getLoc()) << "the value is made here";
    error.attachNote(write->getLoc())
        << "'" << write->getName() << "' writes over it";
    return error;
  }

  func::FuncOp function;
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state;
  BufferPlaces places;
  int clock = 0;
  DenseMap<Operation *, int> start, end;
  DenseMap<Value, std::vector<Write>> writes; ///< By root.
};

struct BodyVerifyBuffersPass
    : impl::BodyVerifyBuffersBase<BodyVerifyBuffersPass> {
  void runOnOperation() override {
    if (isBody(getOperation()) && failed(verifyBuffers(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult verifyBuffers(func::FuncOp function) {
  return BufferVerifier(function).run();
}

} // namespace stagewright::bodies
