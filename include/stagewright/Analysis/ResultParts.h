//===- ResultParts.h - results of a step as parts per layer -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a parameter that several layers use is a sum with one term
// per use. Summing in the graph would send a whole parameter from stage to
// stage for every microbatch; as parts, each stage accumulates its own term and
// the sum is taken once per step.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_RESULTPARTS_H
#define STAGEWRIGHT_ANALYSIS_RESULTPARTS_H

#include "stagewright/Analysis/Layers.h"

namespace stagewright::pipeline {

/// One term of one result of the step.
struct ResultPart {
  unsigned result;
  mlir::Value value;
};

/// The results of the step in order, gradients that are sums over several
/// layers taken apart. The additions that are no longer needed become dead in
/// `graph`.
std::vector<ResultPart> splitResults(StepGraph &graph, const Layers &layers);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_RESULTPARTS_H
