//===- StagingBlocks.h - pinned buffers for copies --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two blocks of pinned memory of one rank: while the device copies from one,
// the host fills the other. A device cannot copy from pageable memory without
// the CPU, and pinned memory is not available to other programs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGINGBLOCKS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGINGBLOCKS_H

#include "Device.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace stagewright::runtime::cuda {

class StagingBlocks {
public:
  /// Max bytes of a block. A copy of that size takes 2.5 ms over PCIe 5 (at
  /// 26 GB/s), a thousand times the time to enqueue it.
  static constexpr int64_t maxBytes = int64_t(64) << 20;

  /// For copies of at most `all` bytes in total, on a stream of `device`.
  StagingBlocks(const Device &device, Stream stream, int64_t all);

  /// Writes bytes [at, at + bytes) of the copied data to `to`.
  using Fill = std::function<void(std::byte *to, int64_t at, int64_t bytes)>;
  /// Enqueues copies of `bytes` bytes, in pieces that `fill` writes.
  void upload(DevicePointer to, int64_t bytes, const Fill &fill);
  /// Copies `bytes` bytes to a block and waits; the result is valid until the
  /// next call. Throws if a block is smaller.
  const std::byte *fetch(DevicePointer from, int64_t bytes);
  /// Waits until all copies are done.
  void settle();

private:
  /// Returns `bytes` bytes of a block, from or to which a copy must be enqueued
  /// before the next call. May wait for a block.
  std::byte *claim(int64_t bytes);
  /// Changes to the other block, once its copies are done.
  void turn();
  /// Polls the event of `block` until its copies are done.
  void wait(size_t block) const;

  const Device &device;
  Stream stream;
  int64_t size; ///< bytes of a block
  PinnedMemory blocks[2];
  EventOwner done[2]; ///< copies from or to the block
  bool busy[2] = {false, false};
  size_t current = 0;
  int64_t used = 0; ///< bytes claimed of the current block
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STAGINGBLOCKS_H
