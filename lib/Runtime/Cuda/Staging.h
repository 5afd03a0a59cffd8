//===- Staging.h - copies arguments and results -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments are copied to the devices when they are set, results when they are
// requested: no copy is kept on the host. Both pass piece by piece through two
// blocks of pinned memory per rank, used in turn, so the memory is bounded for
// any size of the model. A captured graph contains none of these copies.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H

#include "Memory/HostTensors.h"
#include "Program.h"
#include "StagingBlocks.h"

#include <optional>

namespace stagewright::runtime::cuda {

class Staging {
public:
  /// `devices` and `streams` by rank, null for ranks of other processes. Copies
  /// are enqueued on the streams. `manifest`, `memory` and the devices must
  /// outlive it.
  Staging(const Manifest &manifest, const Memory &memory, int64_t microbatches,
          const std::vector<const Device *> &devices,
          const std::vector<Stream> &streams);

  /// The layouts of all ranks, without memory.
  HostArenas shapes() const;
  /// Enqueues copies of an argument to all ranks that have it; when it returns,
  /// `tensor` has been read. Must not be called while a step runs.
  void load(size_t argument, const sw_tensor &tensor);
  /// Whether anything was enqueued for a rank since the last call.
  bool takeLoaded(int64_t rank);
  /// Waits until all loaded arguments are on the devices; throws an `Error` if
  /// that takes longer than the limit for the first step.
  void settle();
  /// Copies a part of a buffer, at most `StagingBlocks::maxBytes`, from the
  /// device of a rank of this process (see `ReadBuffer`).
  const std::byte *fetch(size_t rank, size_t buffer, int64_t at, int64_t bytes);

private:
  /// Enqueues the copies of a whole buffer (see `StagingBlocks::upload`).
  void loadBuffer(size_t rank, size_t buffer, const StagingBlocks::Fill &fill);
  void loadNumbers(size_t rank, size_t buffer);
  Address onDevice(size_t rank, size_t buffer) const;

  const Manifest &manifest;
  const Memory &memory;
  int64_t microbatches;
  std::vector<std::optional<StagingBlocks>> blocks; ///< by rank
  std::vector<bool> loaded;                         ///< by rank
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H
