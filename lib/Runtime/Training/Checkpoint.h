//===- Checkpoint.h - parameters and state in files -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a folder DIRECTORY/step-000000000100:
//   params.safetensors, state.safetensors   tensors by the model's names
//   checkpoint.json                         the step; bytes and CRC-32 of both
// No stage and no rank is in it, so any plan of the same model reads it, and
// any reader of safetensors.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINT_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINT_H

#include "Files/MappedFile.h"
#include "Files/Safetensors.h"
#include "Threads/Worker.h"

#include <future>
#include <memory>
#include <optional>
#include <set>

namespace stagewright::runtime {

/// What one checkpoint holds, with its own copy of the bytes.
struct Snapshot {
  struct Tensor {
    std::string role, name; ///< parameter or state
    sw_dtype dtype = SW_F32;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };
  int64_t step = 0; ///< Steps that were run before it.
  std::vector<Tensor> tensors;
};

/// Writes the checkpoints of a run into one folder, on a thread.
class CheckpointWriter {
public:
  /// Keeps the last `keep` checkpoints. Throws an `Error` if `directory` cannot
  /// be made. Its end waits; an error that nobody has heard is lost.
  CheckpointWriter(std::string directory, int64_t keep);
  /// Begins to write; waits for the checkpoint before, and throws its error.
  /// Until this one is written nobody may change the snapshot.
  void write(std::shared_ptr<const Snapshot> snapshot);
  /// Waits for what is being written; throws its error.
  void finish();
  /// Whether something is being written, still after so many seconds.
  bool isBusy(double seconds);

private:
  std::string directory;
  int64_t keep;
  std::future<void> writing;
  Worker worker;
};

/// Writes one checkpoint, whole or not at all, and removes old ones.
void writeCheckpoint(const std::string &directory, const Snapshot &snapshot,
                     int64_t keep);

/// The step of the newest checkpoint by its name; null where there is none.
std::optional<int64_t> newestStep(const std::string &directory);

/// A checkpoint that has been checked.
class Checkpoint {
public:
  /// The newest checkpoint of `directory`. Throws an `Error` if there is none,
  /// or if the newest is damaged; it says why and names the one before.
  static Checkpoint newest(const std::string &directory);
  /// Throws an `Error` with the file and the reason.
  explicit Checkpoint(const std::string &folder);

  int64_t step() const { return number; }
  const std::string &folder() const { return path; }
  /// By the model's name; throws an `Error` where type or shape differ or the
  /// tensor is missing.
  std::span<const std::byte> find(const std::string &role,
                                  const std::string &name, sw_dtype dtype,
                                  const std::vector<int64_t> &shape) const;
  /// Throws an `Error` where it has other tensors than those.
  void requireOnly(const std::string &role,
                   const std::set<std::string> &names) const;

private:
  std::string path, offer; ///< And what else there is to resume from.
  int64_t number = 0;
  std::vector<std::unique_ptr<MappedFile>> files;
  std::map<std::string, std::map<std::string, TensorView>>
      tensors; ///< By role.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINT_H
