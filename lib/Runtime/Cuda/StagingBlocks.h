//===- StagingBlocks.h - pinned memory that copies go through ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two blocks of pinned memory of one rank: while the device copies from one,
// the host fills the other. A device copies from pageable memory only with the
// host's help, and pinned memory is taken from all other programs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGINGBLOCKS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGINGBLOCKS_H

#include "Device.h"

#include <cstddef>
#include <vector>

namespace stagewright::runtime::cuda {

class StagingBlocks {
public:
  /// Bytes of a block at most. A copy of that size takes 2.5 ms over PCIe 5 (at
  /// 26 GB/s), a thousand times what it takes to enqueue it.
  static constexpr int64_t maxBytes = int64_t(64) << 20;

  /// For copies of `all` bytes together, or fewer, on a stream of `device`.
  StagingBlocks(const Device &device, Stream stream, int64_t all);

  /// Room in a block, which a `send` is to follow before the next call; null
  /// where a block has less. Waits until a block is free.
  std::byte *claim(int64_t bytes);
  /// Enqueues a copy of what lies in claimed room.
  void send(DevicePointer to, const std::byte *from, int64_t bytes);
  /// Enqueues copies from anywhere, by pieces; `from` has been read then.
  void upload(DevicePointer to, const std::byte *from, int64_t bytes);
  /// Copies to anywhere, by pieces, and waits for it.
  void download(std::byte *to, DevicePointer from, int64_t bytes);
  /// Waits until all copies are done.
  void settle();

private:
  /// Goes on with the other block.
  void turn();
  /// Looks for an event that was recorded.
  void wait(size_t block) const;

  const Device &device;
  Stream stream;
  int64_t size; ///< bytes of a block
  PinnedMemory blocks[2];
  EventOwner done[2]; ///< copies from or to the block
  bool busy[2] = {false, false};
  size_t current = 0;
  int64_t used = 0; ///< bytes of the current block
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGINGBLOCKS_H
