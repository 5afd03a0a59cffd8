//===- HintText.h - the hints of an option ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTTEXT_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTTEXT_H

#include "Hints.h"
#include "llvm/Support/GlobPattern.h"

namespace stagewright::pipeline {

/// One hint of `--shard`.
struct Hint {
  std::string text;
  llvm::GlobPattern names;
  llvm::SmallVector<Layout, 2>
      layouts; ///< By axis, up to the one that is read.
  bool isAuto = false;
  bool used = false;
};

/// The hints in `hints`, separated by commas, for `axis`. Fails with an error
/// at `loc` if one is malformed.
mlir::FailureOr<std::vector<Hint>>
readHints(mlir::Location loc, mlir::StringRef hints, ShardAxis axis);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_HINTTEXT_H
