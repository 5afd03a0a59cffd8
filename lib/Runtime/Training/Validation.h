//===- Validation.h - the loss on validation data ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second artifact computes only the loss, on samples that are not trained on.
// It has as many ranks, and runs between steps, in the same processes or on
// threads of its own. It has its own arenas, into which the parameters are
// copied each time, so its stages may be cut elsewhere. Parameters are matched
// by name.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_VALIDATION_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_VALIDATION_H

#include "Training/Batches.h"
#include "stagewright/Runtime/Launch.h"

namespace stagewright::runtime {

class Validation {
public:
  /// `training` is the manifest of the training step, and `inputs` the file
  /// with its arguments. Throws if the two artifacts do not match.
  Validation(const ValidationOptions &options, const nlohmann::json &training,
             const std::string &inputs);
  /// Creates the step; `how` are the options of the training step. From here on
  /// all processes make the same calls.
  void create(const sw_options &how);

  /// Whether to validate after `done` of `all` steps.
  bool due(int64_t done, int64_t all) const {
    return done == all || (options.every && done % *options.every == 0);
  }
  /// The mean loss with the current parameters of `training`.
  double run(sw_step *training, const Launch &launch);

private:
  struct Shared {
    int64_t from = 0, to = 0; ///< Positions in training, and here.
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
  int64_t microbatches = 0, count = 0; ///< Per batch; number of batches.
  size_t loss = 0;                     ///< Number of the result.
  std::optional<Batches> batches;
  std::string inputs;
  std::vector<Shared> shared;    ///< Results copied each time.
  std::vector<Shared> constants; ///< Arguments, set once.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_VALIDATION_H
