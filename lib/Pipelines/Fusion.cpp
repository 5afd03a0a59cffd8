//===- Fusion.cpp - what bodies for any target go through first -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

using namespace mlir;

namespace stagewright {

void buildFusion(OpPassManager &body, const HostPipelineOptions &options,
                 bool keepTypes) {
  body.addPass(createConvertElementwiseToLinalgPass());
  body.addPass(createCanonicalizerPass());
  body.addPass(createCSEPass());
  // Contractions are raised first, or elementwise operations would be fused
  // into them, and again after: moving reshapes can take one apart.
  body.addPass(host::createHostRaiseConvolutions());
  body.addPass(host::createHostRaiseContractions({keepTypes}));
  body.addPass(host::createHostSumSlices());
  body.addPass(host::createHostFoldAccumulation());
  body.addPass(host::createHostFuseElementwise({options.maxOps}));
  body.addPass(createCanonicalizerPass());
  body.addPass(createCSEPass());
  body.addPass(host::createHostRaiseContractions({keepTypes}));
  body.addPass(host::createHostFoldAccumulation());
}

} // namespace stagewright
