//===- Alternatives.cpp - kernels in case the library has no algorithm ----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alternatives.h"
#include "Attention/Halves.h"
#include "Attention/Library.h"
#include "Epilogues.h"
#include "Scalars.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEOUTLINEALTERNATIVES
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

void outlineAlternative(Operation *op, bodies::KernelOutliner &outliner) {
  auto write = [&](OpBuilder &builder, IRMapping &mapping) {
    Operation *copy = builder.clone(*op, mapping);
    copy->removeAttr(kLibrary);
    if (isa<rank::ContractOp>(copy))
      makeLoop(copy); // A kernel cannot contain a library call.
  };
  outliner.outline({op, {}, {}, write, nullptr});
  auto call = cast<func::CallOp>(op->getPrevNode());
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  rank::OtherwiseOp::create(builder, op->getLoc(), call.getCallee(),
                            call.getOperands());
  call.erase();
}

namespace {

struct DeviceOutlineAlternativesPass
    : impl::DeviceOutlineAlternativesBase<DeviceOutlineAlternativesPass> {
  void runOnOperation() override {
    bodies::KernelOutliner outliner(getOperation());
    for (func::FuncOp body : outliner.bodies())
      for (Operation &op : llvm::make_early_inc_range(body.front())) {
        if (auto gradient = dyn_cast<pipeline::AttentionGradientOp>(op))
          replaceLater(gradient, outliner);
        else if (op.hasAttr(kLibrary) || isProductOfBytes(op))
          outline(&op, outliner);
      }
  }

  /// Whether `op` is a library call that not every device supports.
  static bool isProductOfBytes(Operation &op) {
    auto product = dyn_cast<rank::ContractOp>(op);
    Type type = product ? getElementTypeOrSelf(op.getOperand(0)) : Type();
    return product && type.getIntOrFloatBitWidth() == 8 &&
           isOneProduct(product);
  }

  void outline(Operation *op, bodies::KernelOutliner &outliner) {
    outlineAlternative(op, outliner);
    ++numAlternatives;
  }

  /// Outlines kernels for a gradient that is one library call.
  void replaceLater(pipeline::AttentionGradientOp whole,
                    bodies::KernelOutliner &outliner) {
    OpBuilder builder(whole->getContext());
    builder.setInsertionPointAfter(whole);
    Halves halves = writeHalves(builder, whole);
    SmallVector<Operation *> all = halves.sums;
    all.append({halves.queries, halves.keys});
    for (Operation *op : all)
      outline(op, outliner);
    for (Operation *op : all)
      op->erase();
  }
};

} // namespace
} // namespace stagewright::device
