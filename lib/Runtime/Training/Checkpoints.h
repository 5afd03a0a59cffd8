//===- Checkpoints.h - saving and restoring a run's state -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Saves the parameters and the state of a step in checkpoints, and restores
// them. A thread writes them while they are copied from the step, piece by
// piece, and brings them to the disk while later steps run: a checkpoint of any
// size needs the same memory. If there are several processes, all of them make
// the same calls.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINTS_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINTS_H

#include "stagewright/Runtime/Training.h"

#include "Files/BackgroundWriter.h"
#include "Training/Checkpoint.h"

#include <nlohmann/json.hpp>

namespace stagewright::runtime {

class Checkpoints {
public:
  /// An empty `folder` saves nothing. Throws if the folder cannot be created,
  /// if a new run finds checkpoints there, or if a resumed one finds none.
  Checkpoints(std::string folder, int64_t keep, bool resumes,
              const nlohmann::json &manifest);

  bool saves() const { return writer.has_value(); }
  /// Whether the step replaces any arguments, as one with an optimizer does.
  bool any() const { return !replaced.empty(); }
  /// The arguments that the step replaces.
  std::vector<RunValue> values() const {
    return {replaced.begin(), replaced.end()};
  }

  /// Called before the first step, when processes have their numbers.
  void begin(const Launch &launch);
  /// Restores the newest checkpoint; returns the number of steps before it.
  int64_t resume(sw_step *step);
  /// Saves a checkpoint after `steps` steps, unless there is one already.
  void save(sw_step *step, int64_t steps);
  /// Waits until the last checkpoint is on the disk.
  void finish();
  /// The newest checkpoint, as the end of an error message; empty if there is
  /// none. The process that writes for `launch` first waits for the write in
  /// progress; if that fails, the text has its error.
  std::string lastGood(const Launch &launch);

private:
  struct Replaced : RunValue {
    int64_t argument; ///< position
  };
  void waitForWriting();

  std::string folder;
  int64_t keep;
  std::vector<Replaced> replaced; ///< in the order of roles and names
  CheckpointTensors tensors;
  std::optional<BackgroundWriter> writer;
  bool writes = false; ///< whether this process writes
  int64_t saved = -1;  ///< count of steps
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINTS_H
