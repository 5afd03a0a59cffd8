//===- ResultParts.h - results of a step as parts per layer -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a parameter that several layers use is a sum with one term
// per use. If the graph summed the terms, every microbatch would send a tensor
// as large as the parameter from stage to stage. With parts, each stage
// accumulates its own term, and the terms are summed once per step.
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

/// The results of the step in order; a gradient that is a sum over several
/// layers is split into its terms. The additions that are then unused become
/// dead in `graph`.
std::vector<ResultPart> splitResults(StepGraph &graph, const Layers &layers);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_RESULTPARTS_H
