//===- Annotations.h - how the user places layers ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the operations, parameters and layers to which annotations apply
// (Dialect/Pipeline/IR/Annotation.h); it does not place anything.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_ANNOTATIONS_H
#define STAGEWRIGHT_ANALYSIS_ANNOTATIONS_H

#include "stagewright/Analysis/Layers.h"
#include "stagewright/Dialect/Pipeline/IR/Annotation.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

/// Whether an operation of `module` is in an annotated scope, or a parameter of
/// @step has an annotation.
bool hasAnnotations(mlir::ModuleOp module);

/// The annotations of a step.
struct StepAnnotations {
  /// For operations of the forward without an annotation that are the first to
  /// read a parameter.
  static constexpr int kNone = -1;
  /// For other operations without an annotation: they may join those of
  /// any annotation.
  static constexpr int kOpen = -2;

  std::vector<Annotation> list; ///< In order of appearance.
  std::vector<int> of; ///< By operation: number in `list`, kNone, kOpen.

  bool any() const { return !list.empty(); }
};

/// Reads the annotations of the operations of the forward: those of their
/// scopes, and those of the parameters that they are the first to read. Emits
/// an error that names both places if an operation has two.
mlir::FailureOr<StepAnnotations> readAnnotations(const StepGraph &graph);

/// `annotations` of the operations that are the first to read a parameter; all
/// others are open.
StepAnnotations annotationsOfReaders(const StepGraph &graph,
                                     StepAnnotations annotations);

/// Whether every operation that is the first to read a parameter has a
/// split(n), and not all of them have the same one.
bool splitsIntoStages(const StepAnnotations &ofReaders);

/// By argument: the number in `list` of the annotation of the operation that is
/// the first to read the parameter, or kNone.
std::vector<int> annotationsOfParameters(const StepGraph &graph,
                                         const StepAnnotations &annotations);

/// Splits layers of the forward, before the backward is assigned, so that no
/// layer has operations of two annotations, or of one annotation and of kNone.
void splitAtAnnotations(const StepGraph &graph,
                        const StepAnnotations &annotations, Layers &layers);

/// The number in `list` of the annotation of each layer, or kNone. A layer with
/// neither an annotation nor parameters, such as a loss, gets the annotation of
/// the layer before it; at the start of the model, that of the next annotated
/// layer. But it gets none if the layer before it has none, or if the next
/// layer with an annotation or parameters has only parameters: then the planner
/// chooses.
std::vector<int> annotationsOfLayers(const StepGraph &graph,
                                     const StepAnnotations &annotations,
                                     const Layers &layers);

/// Consecutive layers [first, end) of a graph with one annotation.
struct AnnotatedLayers {
  int64_t first = 0, end = 0;
  Annotation annotation;
};

/// The annotated layers of `graph`, in order.
std::vector<AnnotatedLayers> annotatedLayers(GraphOp graph);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_ANNOTATIONS_H
