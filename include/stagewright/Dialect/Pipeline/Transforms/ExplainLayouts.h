//===- ExplainLayouts.h - what can be split, and what not -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the linkage classes of a step (Analysis/Linkage.h): the dimensions
// that are split together, and what pipeline-shard makes of it if they are.
// Nothing is deduced twice: each kind of class is split by pipeline-shard's own
// code on a copy of the step, and the text states which operations then work on
// parts. So it takes as long as that many runs of pipeline-shard.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_EXPLAINLAYOUTS_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_EXPLAINLAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::pipeline {

/// The classes of `step`, which has roles, as text: for every kind (equal
/// classes of equal layers are one) its dimensions, the numbers of parts, and
/// for `ways` parts the hints that split it and the share of the flops of
/// contractions, or the operation that prevents it. Emits an error if the step
/// cannot be analysed, or `ways` is not 2 to 1024.
mlir::FailureOr<std::string> explainLayouts(mlir::func::FuncOp step,
                                            int64_t ways);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_EXPLAINLAYOUTS_H
