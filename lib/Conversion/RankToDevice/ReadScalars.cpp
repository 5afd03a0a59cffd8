//===- ReadScalars.cpp - kernels read scalars from memory -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEREADSCALARS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// The operation that extracts `value` from a tensor of rank 0, or null.
tensor::ExtractOp scalarOf(Value value) {
  auto extract = value.getDefiningOp<tensor::ExtractOp>();
  return extract && extract.getIndices().empty() ? extract
                                                 : tensor::ExtractOp();
}

struct DeviceReadScalarsPass
    : impl::DeviceReadScalarsBase<DeviceReadScalarsPass> {
  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      take(op);
  }

  /// If the body of `op` uses elements of tensors of rank 0, adds these tensors
  /// to the operands of `op`.
  void take(linalg::GenericOp op) {
    SetVector<Value> used;
    getUsedValuesDefinedAbove(op->getRegions(), used);
    SmallVector<Value> scalars, inputs(op.getDpsInputs());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (Value value : used)
      if (tensor::ExtractOp extract = scalarOf(value)) {
        maps.insert(maps.begin() + int64_t(inputs.size()),
                    AffineMap::get(op.getNumLoops(), 0, &getContext()));
        inputs.push_back(extract.getTensor());
        scalars.push_back(value);
      }
    if (scalars.empty())
      return;
    OpBuilder builder(op);
    unsigned first = op.getNumDpsInputs();
    auto made = linalg::GenericOp::create(
        builder, op.getLoc(), op->getResultTypes(), inputs, op.getDpsInits(),
        maps, op.getIteratorTypesArray());
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    made.getRegion().takeBody(op.getRegion());
    for (auto [i, scalar] : llvm::enumerate(scalars)) {
      BlockArgument element = made.getBody()->insertArgument(
          first + unsigned(i), scalar.getType(), scalar.getLoc());
      scalar.replaceUsesWithIf(element, [&](OpOperand &use) {
        return made->isProperAncestor(use.getOwner());
      });
    }
    op->replaceAllUsesWith(made->getResults());
    op.erase();
    numRead += scalars.size();
  }
};

} // namespace
} // namespace stagewright::device
