//===- ExplainLayouts.h - what can be split, and what not -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the linkage classes of a step (Analysis/Linkage.h): the dimensions
// that are split together, and how pipeline-shard then splits the step. Nothing
// is deduced twice: each kind of class is split by pipeline-shard's own code on
// a copy of the step, and the text states which operations then work on parts.
// So it takes as long as one run of pipeline-shard for each kind of class.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_EXPLAINLAYOUTS_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_EXPLAINLAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::pipeline {

/// Describes the classes of `step`, which has roles, as text. Equal classes of
/// equal layers are one kind. For every kind: its dimensions; the possible
/// numbers of parts; and for `ways` parts, the hints that split it and the
/// share of the flops in contractions that are then on parts, or the operation
/// that prevents the split. Emits an error if the step cannot be analysed, or
/// `ways` is not 2 to 1024.
mlir::FailureOr<std::string> explainLayouts(mlir::func::FuncOp step,
                                            int64_t ways);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_EXPLAINLAYOUTS_H
