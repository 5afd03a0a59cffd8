//===- Annotation.h - how the user places layers ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Users annotate layers with replicate(n) or split(n): as scopes in the source
// (stagewright.replicate in Python), which importers leave in locations, or by
// globs of parameters (pipeline-annotate), which become attributes of
// arguments. Both have one form, `stagewright:split:2:0:model.py%3A12`: kind,
// number of devices, number of the annotation, place in the user's file.
//
// The primitives are those of Whale (Jia et al., ATC 2022, section 3).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_IR_ANNOTATION_H
#define STAGEWRIGHT_DIALECT_PIPELINE_IR_ANNOTATION_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace stagewright::pipeline {

/// The prefix of scopes that are annotations. They are not scopes of the model,
/// and so not part of a ScopePath.
inline constexpr llvm::StringLiteral kAnnotationScope = "stagewright:";

inline bool isAnnotationScope(llvm::StringRef name) {
  return name.starts_with(kAnnotationScope);
}

/// On an argument of a step: the annotation of a parameter, in the form above.
inline constexpr llvm::StringLiteral kAnnotation = "pipeline.annotation";
/// On a graph: an array with the annotation of each layer, or "".
inline constexpr llvm::StringLiteral kAnnotations = "pipeline.annotations";
/// The same on a graph of shards, if all operations that are the first to read
/// a parameter have a split(n), and not all the same one. Each annotation is
/// then a stage.
inline constexpr llvm::StringLiteral kShardAnnotations =
    "pipeline.shard_annotations";

struct Annotation {
  bool splits = false; ///< split(n), else replicate(n).
  int64_t count = 1;   ///< Devices: n.
  std::string place;   ///< "model.py:12"
  std::string form;    ///< As in locations; equal forms: one annotation.

  /// "split(2) at model.py:12"
  std::string text() const;
};

/// The forms, for error messages.
inline constexpr llvm::StringLiteral kAnnotationForms =
    "stagewright:replicate:N:NUMBER:PLACE or stagewright:split:N:NUMBER:PLACE";

/// Parses the form above; nothing if it is malformed.
std::optional<Annotation> parseAnnotation(llvm::StringRef form);

/// The form of an annotation with these properties.
std::string formOf(bool splits, int64_t count, int64_t number,
                   llvm::StringRef place);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_IR_ANNOTATION_H
