//===- FlagGroups.h - the groups of flags of pp-compile ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function reads the flags of one group from the parsed command line. It
// reports an error that names the flag, and fails, if a value is invalid.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_COMPILE_FLAGGROUPS_H
#define STAGEWRIGHT_TOOLS_PP_COMPILE_FLAGGROUPS_H

#include "Options.h"
#include "llvm/Support/CommandLine.h"

/// The category of all flags of pp-compile in `--help`.
llvm::cl::OptionCategory &category();

/// Parses a flag that is a whole number of at least `min`, if it is given.
/// `word`: what the error says the flag may also be.
mlir::LogicalResult readNumber(const llvm::cl::opt<std::string> &option,
                               std::optional<int64_t> &number, int64_t min = 1,
                               const char *word = "");
/// Parses a flag that is a number of bytes, such as 25MiB or 4096, if it is
/// given.
mlir::LogicalResult readBytes(const llvm::cl::opt<std::string> &option,
                              std::optional<int64_t> &bytes, int64_t min = 0);

/// Stages, their devices and the order of actions.
mlir::LogicalResult readPlanFlags(stagewright::CompileOptions &options);
/// Shards of layers.
mlir::LogicalResult readShardFlags(stagewright::CompileOptions &options);
/// What forwards keep for backwards, and how replicas combine gradients.
mlir::LogicalResult readMemoryFlags(stagewright::CompileOptions &options);
/// The target and the cache of native code.
mlir::LogicalResult readTargetFlags(Options &options);

#endif // STAGEWRIGHT_TOOLS_PP_COMPILE_FLAGGROUPS_H
