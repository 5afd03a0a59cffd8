//===- ApproximateMath.cpp - polynomials for elementary functions ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

using namespace mlir;

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTAPPROXIMATEMATH
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct HostApproximateMathPass
    : impl::HostApproximateMathBase<HostApproximateMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // Square roots are instructions; the rest below would call the C library
    // for every element.
    populateMathF32ExpansionPatterns(
        patterns, [](StringRef name) { return name != "math.sqrt"; });
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name != "math.sqrt" && name != "math.rsqrt";
    });
    math::populateExpansionPatterns(
        patterns, {"tan", "sinh", "cosh", "asinh", "acosh", "atanh", "powf",
                   "fpowi", "exp2", "roundeven", "rsqrt"});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace
} // namespace stagewright::host
