//===- Tensors.h - a step's tensors from and to files -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs and outputs of a step as safetensors files whose tensors are named by
// their position, "0", "1", and so on.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_TENSORS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_TENSORS_H

#include "stagewright-rt/runtime.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// Throws what the last failed call of the C ABI left in `sw_error`.
[[noreturn]] void raiseLastError();

/// Where arguments come from.
struct InputSources {
  /// A file; empty for none.
  std::string path;
  /// The file has one microbatch of every batch argument, taken for each.
  bool repeat = false;
  /// Fills what the file lacks (Init.h).
  std::optional<uint32_t> init;
};

/// Sets every argument of the step, but those at the positions `fed`, which get
/// their values later. A tensor that is missing and one that belongs to no
/// argument are errors.
void setInputs(const sw_program *program, sw_step *step,
               const nlohmann::json &manifest, int64_t microbatches,
               const std::set<int64_t> &fed, const InputSources &from);

/// Writes every result to the file, in one step; without `write`, helps the
/// process that does.
void writeOutputs(const sw_program *program, sw_step *step,
                  int64_t microbatches, bool write, const std::string &path);

/// Position and tensor of an argument (or result), as the C ABI tells them.
struct Described {
  int64_t position = 0;
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
};
Described describe(int (*query)(const sw_program *, int64_t, int64_t, int64_t *,
                                sw_tensor *),
                   const sw_program *program, int64_t index,
                   int64_t microbatches);

/// Result number `index`, if it is a single number.
std::optional<double> readNumber(const sw_program *program, sw_step *step,
                                 size_t index, int64_t microbatches);

/// The value of the result with the role "loss", if it is a single number.
std::optional<double> readLoss(const sw_program *program, sw_step *step,
                               const nlohmann::json &manifest,
                               int64_t microbatches);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_TENSORS_H
