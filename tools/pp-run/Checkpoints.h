//===- Checkpoints.h - what a run saves and goes on from --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters and state of a step, to checkpoints and from them. A step waits
// for the copy of them alone, into memory that is there from the beginning; a
// thread writes it while steps run on. With several processes all of them make
// the same calls.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_CHECKPOINTS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_CHECKPOINTS_H

#include "Launch.h"
#include "Training/Checkpoint.h"

#include <nlohmann/json.hpp>

class Checkpoints {
public:
  /// Without a folder nothing is saved. Throws if it cannot be made, and where
  /// it has checkpoints that the run does not go on from.
  Checkpoints(std::string folder, int64_t keep, bool resumes,
              const nlohmann::json &manifest);

  bool saves() const { return writer.has_value(); }
  /// Whether the step replaces anything, which is what it has an optimizer for.
  bool any() const { return !replaced.empty(); }

  /// Before the first step, once processes have their numbers.
  void begin(const Launch &launch);
  /// Sets what the newest one holds; the number of steps before it.
  int64_t resume(sw_step *step);
  /// One of the last of so many steps, unless it has one.
  void save(sw_step *step, int64_t steps);
  /// Until what was saved is on the disk.
  void finish();
  /// Of `launch` who speaks waits so; the newest one, for errors.
  std::string lastGood(const Launch &launch);

private:
  /// A parameter or state: an argument of the step, and its new value.
  struct Replaced {
    int64_t argument, result; ///< positions
    std::string role, name;
    sw_dtype dtype;
    std::vector<int64_t> shape;
  };
  void waitForWriting();

  std::string folder;
  std::vector<Replaced> replaced;
  std::shared_ptr<stagewright::runtime::Snapshot> snapshot;
  std::optional<stagewright::runtime::CheckpointWriter> writer;
  bool writes = false; ///< this process
  int64_t saved = -1;  ///< count of steps
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_CHECKPOINTS_H
