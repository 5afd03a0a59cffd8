//===- Options.h - the command line of pp-compile ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_COMPILE_OPTIONS_H
#define STAGEWRIGHT_TOOLS_PP_COMPILE_OPTIONS_H

#include "stagewright/Pipelines/Compile.h"
#include "stagewright/Target/Artifact.h"

/// Where to stop.
enum class Emit {
  Graph,
  Program,
  Schedule,
  Rank,
  Host,
  Kernels,
  LLVM,
  Artifact,
  Assembly
};

struct Options {
  std::string input, output;
  Emit emit = Emit::Artifact;
  stagewright::CompileOptions compile;
  stagewright::ArtifactOptions artifact;
  bool quiet = false, explainMemory = false, timing = false;
  bool givesScoreBytes = false; ///< Whether there is --score-bytes at all.
  /// What --explain-time says: nothing, `json` or a file; absent without it.
  std::optional<std::string> explainTime;
};

/// Refuses flags that contradict each other, and an output that cannot be, with
/// an error.
mlir::LogicalResult check(const Options &options);

/// Reads the command line, and plans from the files that it names. Fails, with
/// an error, on a value that is none and on what `check` refuses.
mlir::FailureOr<Options> readOptions(int argc, char **argv);

#endif // STAGEWRIGHT_TOOLS_PP_COMPILE_OPTIONS_H
