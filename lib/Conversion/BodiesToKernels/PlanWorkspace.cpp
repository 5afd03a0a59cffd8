//===- PlanWorkspace.cpp - temporaries placed by lifetime -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Support/Packing.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYPLANWORKSPACE
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

int64_t bytesOf(MemRefType type) {
  int64_t bits =
      type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
  return llvm::alignTo(type.getNumElements() * ((bits + 7) / 8), kAlignment);
}

struct BodyPlanWorkspacePass
    : impl::BodyPlanWorkspaceBase<BodyPlanWorkspacePass> {
  using BodyPlanWorkspaceBase::BodyPlanWorkspaceBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isBody(function) || function->hasAttr(kWorkspace))
      return;
    Block &body = function.front();
    DenseMap<Operation *, int64_t> position;
    for (auto [i, op] : llvm::enumerate(body))
      position[&op] = i;

    BufferViewFlowAnalysis aliases(function);
    SmallVector<memref::AllocOp> temporaries;
    std::vector<PackItem> places; ///< Lifetimes: positions of operations.
    WalkResult walk = function.walk([&](memref::AllocOp alloc) {
      if (!alloc.getType().hasStaticShape()) {
        alloc.emitError() << "temporary of dynamic shape " << alloc.getType()
                          << "; every shape must be static";
        return WalkResult::interrupt();
      }
      Operation *top = body.findAncestorOpInBlock(*alloc);
      Life life{position[top], position[top]};
      for (Value alias : aliases.resolve(alloc))
        for (Operation *user : alias.getUsers())
          if (Operation *ancestor = body.findAncestorOpInBlock(*user))
            life.last = std::max(life.last, position[ancestor]);
      temporaries.push_back(alloc);
      places.push_back({bytesOf(alloc.getType()), {life}, 0});
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    function.walk([](memref::DeallocOp op) { op.erase(); });

    Packing packing = pack(places);
    numBytes += packing.total;
    boundBytes += packing.bound;
    OpBuilder builder(&getContext());
    auto type = MemRefType::get({packing.total}, builder.getI8Type());
    if (failed(function.insertArgument(function.getNumArguments(), type, {},
                                       function.getLoc())))
      return signalPassFailure();
    function->setAttr(kWorkspace, builder.getI64IntegerAttr(packing.total));
    function->setAttr(rank::RankDialect::kWorkspaceBound,
                      builder.getI64IntegerAttr(packing.bound));
    Value workspace = body.getArguments().back();
    for (auto [temporary, place] : llvm::zip_equal(temporaries, places)) {
      // At the start of the body, before every use: a temporary in a loop is
      // one buffer for all iterations.
      builder.setInsertionPointToStart(&body);
      Location loc = temporary.getLoc();
      Value offset = arith::ConstantIndexOp::create(builder, loc, place.offset);
      Value view = memref::ViewOp::create(builder, loc, temporary.getType(),
                                          workspace, offset, ValueRange{});
      temporary.replaceAllUsesWith(view);
      temporary.erase();
      ++numPlaced;
    }
  }
};

} // namespace
} // namespace stagewright::bodies
