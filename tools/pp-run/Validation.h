//===- Validation.h - the loss on other data --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second artifact, of the loss alone, on samples that no step trains on. It
// has the same ranks, on the same threads or processes in turn, and its own
// arenas, into which the parameters are copied each time; that its stages are
// cut elsewhere does not matter. What parameters belong together their names
// say.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_VALIDATION_H
#define STAGEWRIGHT_TOOLS_PP_RUN_VALIDATION_H

#include "Batches.h"
#include "Launch.h"

struct ValidationOptions {
  std::string artifact;
  std::vector<std::string> data;
  std::optional<int64_t> every; ///< Steps; else after the last one only.
  std::optional<int64_t> steps; ///< How many batches; else all samples.

  bool given() const { return !artifact.empty(); }
};

/// Throws for options that contradict each other.
void checkValidation(const ValidationOptions &options);

class Validation {
public:
  /// For the training step of the manifest, whose arguments `inputs` holds.
  /// Throws where the two do not fit.
  Validation(const ValidationOptions &options, const nlohmann::json &training,
             const std::string &inputs);
  /// Makes its step; `how` is how the training step was made. From here on all
  /// processes make the same calls.
  void create(const sw_options &how);

  /// Whether a loss is due after so many steps of `all`.
  bool due(int64_t done, int64_t all) const {
    return done == all || (options.every && done % *options.every == 0);
  }
  /// The mean loss with the parameters that `training` has now.
  double run(sw_step *training, const Launch &launch);

private:
  struct Shared {
    int64_t from = 0, to = 0; ///< Positions in the training step and here.
    sw_dtype dtype = SW_F32;
    std::vector<int64_t> shape;
  };
  void bind(const nlohmann::json &training);
  void setConstants();
  void findLoss();

  const ValidationOptions &options;
  std::unique_ptr<sw_program, void (*)(sw_program *)> program;
  std::unique_ptr<sw_step, void (*)(sw_step *)> step;
  nlohmann::json manifest;
  int64_t microbatches = 0, count = 0; ///< Of a batch; batches.
  size_t loss = 0;                     ///< Number of the result.
  std::optional<Batches> batches;
  std::string inputs;
  std::vector<Shared> shared;    ///< From results.
  std::vector<Shared> constants; ///< From arguments, once.
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_VALIDATION_H
