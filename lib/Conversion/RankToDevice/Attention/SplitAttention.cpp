//===- SplitAttention.cpp - attention gradients as two operations ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Halves.h"
#include "Library.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICESPLITATTENTION
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

using pipeline::Attention;

/// Replaces the mask of `op` by a bias, which is added to the scores.
void addBias(Operation *op, const Attention &attention) {
  OpBuilder builder(op);
  auto number =
      unsigned(llvm::find(attention.names, "mask") - attention.names.begin());
  AffineMap map;
  op->setOperand(number, makeBias(builder, attention, map));
  SmallVector<Attribute> maps(attention.maps.begin(), attention.maps.end());
  maps[number] = AffineMapAttr::get(map);
  op->setAttr("indexing_maps", builder.getArrayAttr(maps));
  op->removeAttr("fill");
}

struct DeviceSplitAttentionPass
    : impl::DeviceSplitAttentionBase<DeviceSplitAttentionPass> {
  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    SmallVector<pipeline::AttentionGradientOp> wholes(
        getOperation().getOps<pipeline::AttentionGradientOp>());
    auto goes = [&](Operation *op) {
      Attention attention = *Attention::get(op);
      if (!isForLibrary(attention))
        return false;
      op->setAttr(kLibrary, UnitAttr::get(&getContext()));
      if (attention.has("mask"))
        addBias(op, attention);
      return true;
    };
    for (auto forward : getOperation().getOps<pipeline::AttentionOp>())
      goes(forward);
    for (pipeline::AttentionGradientOp whole : wholes) {
      if (goes(whole))
        continue;
      OpBuilder builder(whole);
      Halves halves = writeHalves(builder, whole);
      SmallVector<Value> results(halves.queries->getResults());
      llvm::append_range(results, halves.keys->getResults());
      whole->replaceAllUsesWith(results);
      whole.erase();
    }
  }
};

} // namespace
} // namespace stagewright::device
