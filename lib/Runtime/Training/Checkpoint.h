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

#include "Files/AtomicFile.h"
#include "Files/FileDescriptor.h"
#include "Files/MappedFile.h"
#include "Files/Safetensors.h"

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

namespace stagewright::runtime {

/// The tensors of a checkpoint, by role (parameter or state) and name.
using CheckpointTensors =
    std::map<std::string, std::map<std::string, TensorType>>;

/// Removes what runs that were killed left in a folder of checkpoints, but not
/// what a live run is writing; a checkpoint that was being replaced is put
/// back. All processes of a run may call this at once, before any of them
/// writes. No-op without the folder.
void recoverCheckpoints(const std::string &directory);

/// Creates the folder of a run's checkpoints. Throws an `Error` if it cannot be
/// created.
void createCheckpoints(const std::string &directory);

/// A checkpoint that is being written, piece by piece: it holds no tensors.
/// After an `Error` in a call it takes no more calls, and nothing remains of
/// it; an `Error` of `commit` about older checkpoints leaves the complete one.
class CheckpointDraft {
public:
  /// Of a run that has done `step` steps. Creates no file yet. `data`: JSON of
  /// the state of the batches (Python), or empty.
  CheckpointDraft(const std::string &directory, int64_t step,
                  const CheckpointTensors &tensors, std::string data = "");
  /// Removes what was written, unless it was committed.
  ~CheckpointDraft();
  CheckpointDraft(const CheckpointDraft &) = delete;
  CheckpointDraft &operator=(const CheckpointDraft &) = delete;

  /// Appends bytes of the tensors, in the order of their roles and names.
  /// Throws an `Error` if there are more than the tensors have.
  void append(std::span<const std::byte> bytes);
  /// Brings the files to the disk and makes the checkpoint visible, as a whole;
  /// then removes all checkpoints but the last `keep`.
  void commit(int64_t keep);

private:
  struct File {
    std::string name;
    std::vector<std::byte> header;
    int64_t left = 0; ///< bytes of tensors not yet appended
    size_t bytes = 0; ///< written so far
    uint32_t sum = 0; ///< their CRC-32
    std::optional<AtomicFile> file = {};
  };
  void begin(File &it);
  void put(File &it, std::span<const std::byte> bytes);
  void writeManifest();
  void publish();
  void discard();
  template <typename Body> void writing(Body body);

  std::filesystem::path directory, place, draft, replaced;
  int64_t step;
  std::string data;
  std::deque<File> files; ///< a deque, as files cannot be moved
  size_t current = 0;
  std::unique_ptr<FileDescriptor> lease; ///< lock of `draft`, if that exists
  bool ended = false;                    ///< committed, or after an error
};

/// The step of the newest checkpoint, from its name; nullopt if there is none.
std::optional<int64_t> newestStep(const std::string &directory);

/// Whether state with this name is of averages over replicas.
bool isOfAverages(const std::string &name);

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
  /// Whether it has state of averages over replicas, so that its run was not
  /// synchronous.
  bool hasAverages() const;
  /// Throws an `Error` if it has tensors of `role` other than `names`.
  void requireOnly(const std::string &role,
                   const std::set<std::string> &names) const;

private:
  std::string path, offer; ///< `offer`: the end of errors, which names another
                           ///< checkpoint.
  int64_t number = 0;
  std::vector<std::unique_ptr<MappedFile>> files;
  std::map<std::string, std::map<std::string, TensorView>>
      tensors; ///< By role.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_CHECKPOINT_H
