//===- Annotated.h - shards of annotated layers -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What annotations say about shards (Analysis/Annotations.h). split(n): some of
// the parameters of the annotated layers are split; which and how is chosen as
// for GLOB=auto. replicate(n): all are whole, and each shard computes its
// samples of a microbatch. The layouts of parameters without an annotation are
// chosen last.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_ANNOTATED_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_ANNOTATED_H

#include "Hints.h"
#include "stagewright/Analysis/Annotations.h"

namespace stagewright::pipeline {

/// The parameters of one annotation, or of none.
struct OpenParameters {
  const Annotation *annotation = nullptr;
  llvm::SmallVector<unsigned> arguments; ///< Ascending.
};

/// The parameters of a step whose split is to be chosen, in the order of the
/// choices: those of each split(n), then those without an annotation. Hints and
/// the model's file take precedence over annotations. Emits an error if an
/// annotation is for another number of devices than `ways`.
mlir::FailureOr<std::vector<OpenParameters>>
openParameters(const StepGraph &graph, const StepAnnotations &annotations,
               int64_t ways, const HintedLayouts &hinted);

/// The layouts of arguments of which each shard takes its samples: batches, if
/// a layer is replicated; else empty. Emits an error if a microbatch cannot be
/// shared equally.
mlir::FailureOr<llvm::SmallVector<Layout>>
sharedBatches(mlir::func::FuncOp step, const StepAnnotations &annotations,
              int64_t ways);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_ANNOTATED_H
