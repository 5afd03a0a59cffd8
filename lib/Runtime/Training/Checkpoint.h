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
// It does not depend on stages or ranks, so a step with any plan of the same
// model can read it, as can any safetensors reader.
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

/// The contents of one checkpoint, with its own copy of the bytes.
struct Snapshot {
  struct Tensor {
    std::string role, name; ///< parameter or state
    sw_dtype dtype = SW_F32;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };
  int64_t step = 0; ///< Number of steps done.
  std::vector<Tensor> tensors;
};

/// Writes the checkpoints of a run into one folder, on its own thread.
class CheckpointWriter {
public:
  /// Keeps the last `keep` checkpoints. Throws an `Error` if `directory` cannot
  /// be created. The destructor waits for a write and ignores its error.
  CheckpointWriter(std::string directory, int64_t keep);
  /// Waits for the previous write, throws its error if any, and starts this
  /// one. The snapshot must not change until it is written.
  void write(std::shared_ptr<const Snapshot> snapshot);
  /// Waits for the pending write; throws its error if any.
  void finish();
  /// Waits up to `seconds` for the pending write; whether it still runs.
  bool isBusy(double seconds);

private:
  std::string directory;
  int64_t keep;
  std::future<void> writing;
  Worker worker;
};

/// Writes one checkpoint atomically and removes old ones.
void writeCheckpoint(const std::string &directory, const Snapshot &snapshot,
                     int64_t keep);

/// The step of the newest checkpoint, from its name; nullopt if there is none.
std::optional<int64_t> newestStep(const std::string &directory);

/// A checkpoint whose sizes and checksums have been verified.
class Checkpoint {
public:
  /// Opens the newest checkpoint of `directory`. Throws an `Error` if there is
  /// none, or if it is damaged; the error names the cause and the one before.
  static Checkpoint newest(const std::string &directory);
  /// Opens a checkpoint. Throws an `Error` with the file and the reason.
  explicit Checkpoint(const std::string &folder);

  int64_t step() const { return number; }
  const std::string &folder() const { return path; }
  /// The bytes of the tensor with the model's name for it. Throws an `Error` if
  /// it is missing or has another type or shape.
  std::span<const std::byte> find(const std::string &role,
                                  const std::string &name, sw_dtype dtype,
                                  const std::vector<int64_t> &shape) const;
  /// Throws an `Error` if it has tensors of `role` other than `names`.
  void requireOnly(const std::string &role,
                   const std::set<std::string> &names) const;

private:
  std::string path, offer; ///< Second: end of errors, names another one.
  int64_t number = 0;
  std::vector<std::unique_ptr<MappedFile>> files;
  std::map<std::string, std::map<std::string, TensorView>>
      tensors; ///< By role.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINT_H
