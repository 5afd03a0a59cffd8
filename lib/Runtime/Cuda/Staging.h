//===- Staging.h - what hosts give and take, in pinned memory ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of the buffers that a host writes or reads, laid out as the arena has
// them but without the others, in memory that the device copies from and to
// without the host's help. Arguments that were set since the last step are
// copied before the next one; results when they are asked for.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H

#include "Device.h"
#include "Memory/HostTensors.h"
#include "Program.h"

namespace stagewright::runtime::cuda {

class Staging {
public:
  /// For the ranks of this process.
  Staging(const Manifest &manifest, const Memory &memory, int64_t microbatches,
          const std::vector<bool> &local);

  /// Where tensors are copied in and out.
  HostArenas tensors() const;
  /// Marks what an argument is in as newer than on the device.
  void changed(size_t argument);
  /// Enqueues copies of what changed in a rank; whether there were any.
  bool upload(int64_t rank, Stream stream);
  /// Enqueues copies of the parts of a result that lie in a rank.
  void download(size_t result, int64_t rank, Stream stream) const;

private:
  Address onDevice(int64_t rank, int64_t buffer) const;

  const Manifest &manifest;
  const Memory &memory;
  int64_t microbatches;
  std::vector<Layout> layouts;          ///< of the copies, by rank
  std::vector<PinnedMemory> copies;     ///< by rank
  std::vector<std::vector<bool>> newer; ///< by rank and buffer
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGING_H
