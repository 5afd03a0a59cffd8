//===- RelaxFloats.cpp - fast-math flags on floating-point operations -===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/RankToHost/Passes.h"

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTRELAXFLOATS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {
struct HostRelaxFloatsPass : impl::HostRelaxFloatsBase<HostRelaxFloatsPass> {
  void runOnOperation() override {
    using Flags = arith::FastMathFlags;
    auto relaxed = arith::FastMathFlagsAttr::get(
        &getContext(), Flags::reassoc | Flags::nsz | Flags::arcp |
                           Flags::contract | Flags::afn);
    getOperation()->walk([&](arith::ArithFastMathInterface op) {
      // Comparisons keep their meaning: reassociation has nothing to give them.
      if (!isa<arith::CmpFOp>(op.getOperation()))
        op->setAttr(op.getFastMathAttrName(), relaxed);
    });
  }
};
} // namespace
} // namespace stagewright::host
