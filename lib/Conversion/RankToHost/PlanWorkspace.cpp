//===- PlanWorkspace.cpp - temporaries placed by lifetime --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTPLANWORKSPACE
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct Temporary {
  memref::AllocOp alloc;
  int64_t bytes; ///< rounded up to the alignment
  int64_t first,
      last; ///< positions of the operations it lives at, both included
  int64_t offset = -1;
};

int64_t bytesOf(MemRefType type) {
  int64_t bits =
      type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
  return llvm::alignTo(type.getNumElements() * ((bits + 7) / 8), kAlignment);
}

/// Greedy by size: the largest first, each at the lowest offset that is free
/// over its whole life. Returns the bytes of the workspace. Quadratic in the
/// number of temporaries of one body.
int64_t place(MutableArrayRef<Temporary> temporaries) {
  SmallVector<Temporary *> order;
  for (Temporary &temporary : temporaries)
    order.push_back(&temporary);
  llvm::stable_sort(
      order, [](Temporary *a, Temporary *b) { return a->bytes > b->bytes; });
  SmallVector<Temporary *> placed; // by offset
  int64_t total = 0;
  for (Temporary *next : order) {
    int64_t offset = 0;
    for (Temporary *other : placed) {
      if (other->last < next->first || next->last < other->first)
        continue;
      if (offset + next->bytes <= other->offset)
        break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    next->offset = offset;
    total = std::max(total, offset + next->bytes);
    placed.insert(llvm::upper_bound(placed, next,
                                    [](Temporary *a, Temporary *b) {
                                      return a->offset < b->offset;
                                    }),
                  next);
  }
  return total;
}

struct HostPlanWorkspacePass
    : impl::HostPlanWorkspaceBase<HostPlanWorkspacePass> {
  using HostPlanWorkspaceBase::HostPlanWorkspaceBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isBody(function) || function->hasAttr(kWorkspace))
      return;
    Block &body = function.front();
    DenseMap<Operation *, int64_t> position;
    for (auto [i, op] : llvm::enumerate(body))
      position[&op] = i;

    BufferViewFlowAnalysis aliases(function);
    SmallVector<Temporary> temporaries;
    WalkResult walk = function.walk([&](memref::AllocOp alloc) {
      if (!alloc.getType().hasStaticShape()) {
        alloc.emitError() << "temporary of dynamic shape " << alloc.getType()
                          << "; every shape must be static";
        return WalkResult::interrupt();
      }
      Operation *top = body.findAncestorOpInBlock(*alloc);
      Temporary temporary{alloc, bytesOf(alloc.getType()), position[top],
                          position[top]};
      for (Value alias : aliases.resolve(alloc))
        for (Operation *user : alias.getUsers())
          if (Operation *ancestor = body.findAncestorOpInBlock(*user))
            temporary.last = std::max(temporary.last, position[ancestor]);
      temporaries.push_back(temporary);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    function.walk([](memref::DeallocOp op) { op.erase(); });

    int64_t total = place(temporaries);
    OpBuilder builder(&getContext());
    auto type = MemRefType::get({total}, builder.getI8Type());
    if (failed(function.insertArgument(function.getNumArguments(), type, {},
                                       function.getLoc())))
      return signalPassFailure();
    function->setAttr(kWorkspace, builder.getI64IntegerAttr(total));
    Value workspace = body.getArguments().back();
    for (Temporary &temporary : temporaries) {
      // In the entry block, where every use sees it: a temporary of a loop is
      // one buffer for all iterations.
      builder.setInsertionPointToStart(&body);
      Location loc = temporary.alloc.getLoc();
      Value offset =
          arith::ConstantIndexOp::create(builder, loc, temporary.offset);
      Value view =
          memref::ViewOp::create(builder, loc, temporary.alloc.getType(),
                                 workspace, offset, ValueRange{});
      temporary.alloc.replaceAllUsesWith(view);
      temporary.alloc.erase();
      ++numPlaced;
    }
  }
};

} // namespace
} // namespace stagewright::host
