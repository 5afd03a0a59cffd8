//===- Staging.h - what hosts give and take -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments go to the devices when they are set, and results come when they are
// asked for: nothing keeps a copy on the host. Devices copy only from and to
// two blocks of pinned memory for each rank, which are filled and emptied in
// turn, so the pinned memory is bounded however large the model is. What does
// not fit into a block lies in pageable memory meanwhile, one argument or
// result at a time. A capture touches none of this.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H

#include "Memory/HostTensors.h"
#include "Program.h"
#include "StagingBlocks.h"

#include <memory>
#include <optional>

namespace stagewright::runtime::cuda {

class Staging {
public:
  /// `devices` and `streams` by rank, null for those of other processes. Copies
  /// are enqueued on the streams. What is given must outlive it.
  Staging(const Manifest &manifest, const Memory &memory, int64_t microbatches,
          const std::vector<const Device *> &devices,
          const std::vector<Stream> &streams);

  /// The shapes of tensors, without memory.
  HostArenas shapes() const;
  /// Enqueues copies of an argument to all ranks that have it; when it returns,
  /// `tensor` has been read. Not while a step is under way.
  void load(size_t argument, const sw_tensor &tensor);
  /// Whether anything was enqueued for a rank since the last call.
  bool takeLoaded(int64_t rank);
  /// Waits until everything that was loaded is on the devices; an `Error` where
  /// that takes longer than the first step may.
  void settle();

  /// A result as it lies on the devices of this process.
  struct Fetched {
    HostArenas arenas;
    std::vector<std::unique_ptr<std::byte[]>> images; ///< by rank
  };
  /// Waits for it.
  Fetched fetch(size_t result);

private:
  /// Lays the chosen buffers of each rank out one after the other; bytes by
  /// rank, 0 for ranks of other processes.
  template <typename Chosen> std::vector<int64_t> place(Chosen chosen);
  /// Loads the chosen buffers, which `fill` fills in memory of the host.
  template <typename Chosen, typename Fill>
  void loadChosen(Chosen chosen, Fill fill);
  Address onDevice(size_t rank, size_t buffer) const;

  const Manifest &manifest;
  const Memory &memory;
  int64_t microbatches;
  std::vector<Layout> layouts; ///< of what is copied just now
  std::vector<std::optional<StagingBlocks>> blocks; ///< by rank
  std::vector<bool> loaded;                         ///< by rank
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H
