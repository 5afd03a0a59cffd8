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

/// The form after which the compilation stops.
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
  bool givesScoreBytes = false; ///< Whether --score-bytes is given.
  /// The value of --explain-time: empty, `json` or a file; absent without it.
  std::optional<std::string> explainTime;
};

/// Reports an error if the target or the policy is unknown, if flags contradict
/// each other, or if the output cannot hold an artifact.
mlir::LogicalResult check(const Options &options);

/// Reads the command line and the plan file that it names. Fails with an error
/// for an invalid value and if `check` fails.
mlir::FailureOr<Options> readOptions(int argc, char **argv);

#endif // STAGEWRIGHT_TOOLS_PP_COMPILE_OPTIONS_H
