//===- Alternatives.cpp - kernels in case the library has no algorithm ----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When kernels are outlined, the operations that library calls will replace
// still exist. Their kernels are outlined here, and launched only if the
// library has no algorithm (`otherwise` in sw_api): they cost code size, not
// time.
//
//===----------------------------------------------------------------------===//

#include "../RankToHost/KernelOutliner.h"
#include "Attention/Halves.h"
#include "Attention/Library.h"
#include "Epilogues.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

using namespace mlir;

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEOUTLINEALTERNATIVES
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

struct DeviceOutlineAlternativesPass
    : impl::DeviceOutlineAlternativesBase<DeviceOutlineAlternativesPass> {
  void runOnOperation() override {
    host::KernelOutliner outliner(getOperation());
    for (func::FuncOp body : outliner.bodies())
      for (Operation &op : llvm::make_early_inc_range(body.front())) {
        if (auto gradient = dyn_cast<pipeline::AttentionGradientOp>(op))
          replaceLater(gradient, outliner);
        else if (op.hasAttr(kLibrary) ||
                 (op.hasAttr(kEpilogue) && isa<linalg::GenericOp>(op)) ||
                 isProductOfBytes(op))
          outline(&op, outliner);
      }
  }

  /// Whether `op` is a library call that not every device supports.
  static bool isProductOfBytes(Operation &op) {
    auto product = dyn_cast<linalg::ContractOp>(op);
    Type type = product ? getElementTypeOrSelf(op.getOperand(0)) : Type();
    return product && type.getIntOrFloatBitWidth() == 8 &&
           isOneProduct(product);
  }

  /// Outlines a kernel that computes `op`, and calls it right after `op`.
  void outline(Operation *op, host::KernelOutliner &outliner) {
    auto write = [&](OpBuilder &builder, IRMapping &mapping) {
      Operation *copy = builder.clone(*op, mapping);
      for (StringRef mark : {kLibrary, kEpilogue})
        copy->removeAttr(mark);
      // Only the call of the library needs a contraction; this copy is lowered.
      if (auto product = dyn_cast<linalg::ContractOp>(copy)) {
        IRRewriter rewriter(builder);
        auto generic = *linalg::generalizeNamedOp(rewriter, product);
        if (op->hasAttr(host::kOverwrite))
          generic->setAttr(host::kOverwrite, rewriter.getUnitAttr());
      }
    };
    outliner.outline({op, {}, {}, write, nullptr});
    Operation *call = op->getPrevNode();
    call->setAttr(kOtherwise, UnitAttr::get(&getContext()));
    call->moveAfter(op);
    ++numAlternatives;
  }

  /// Outlines kernels for a gradient that is one library call.
  void replaceLater(pipeline::AttentionGradientOp whole,
                    host::KernelOutliner &outliner) {
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
