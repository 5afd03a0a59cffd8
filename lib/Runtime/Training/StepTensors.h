//===- StepTensors.h - reads and writes a step's tensors --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs and outputs of a step as safetensors files, in which tensors are
// named by position: "0", "1", and so on.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_STEPTENSORS_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_STEPTENSORS_H

#include "stagewright/Runtime/Launch.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// Where arguments come from.
struct InputSources {
  /// A file; empty for none.
  std::string path;
  /// The file has one microbatch of every batch argument, to be repeated.
  bool repeat = false;
  /// The seed for values that the file lacks (InitialValues.h).
  std::optional<uint32_t> init;
};

/// Sets every argument of the step except those at the positions `fed`, which
/// are set later. Throws if neither the file, the artifact nor `from.init` has
/// a value, or if a tensor of the file belongs to no argument.
void setInputs(const sw_program *program, sw_step *step,
               const nlohmann::json &manifest, int64_t microbatches,
               const std::set<int64_t> &fed, const InputSources &from);

/// Writes every result to the file, atomically and piece by piece. If there are
/// several processes, all must call it; the one with `write` writes.
void writeOutputs(const sw_program *program, sw_step *step,
                  int64_t microbatches, bool write, const std::string &path);

/// The position and tensor of an argument or result, from the C ABI.
struct TensorDescription {
  int64_t position = 0;
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
};
TensorDescription describe(int (*query)(const sw_program *, int64_t, int64_t,
                                        int64_t *, sw_tensor *),
                           const sw_program *program, int64_t index,
                           int64_t microbatches);

/// Result number `index`, if it is a float32 or float64 scalar.
std::optional<double> readNumber(const sw_program *program, sw_step *step,
                                 size_t index, int64_t microbatches);

/// The same of the result with the role "loss".
std::optional<double> readLoss(const sw_program *program, sw_step *step,
                               const nlohmann::json &manifest,
                               int64_t microbatches);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_STEPTENSORS_H
