//===- Shared.h - shared memory of a block ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_SHARED_H
#define STAGEWRIGHT_TEST_CUDA_PTX_SHARED_H

#include "Races.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator::ptx {

class Shared {
public:
  /// For blocks of `threads` threads.
  explicit Shared(int64_t threads) : races("shared memory", threads, 1) {}

  /// Begins a block with `bytes` bytes, all marked as not written.
  void begin(int64_t bytes);
  /// The memory that a thread accesses after `barriers` barriers; throws
  /// `Violation`. Bytes that are read must have been written by this block.
  std::byte *access(int thread, uint64_t address, int bytes, int barriers,
                    bool writes);
  /// Marks bytes as not written, because an asynchronous copy will write them.
  void forget(uint64_t address, int bytes);

private:
  std::vector<std::byte> content;
  std::vector<bool> known; ///< by byte: whether it was written
  Races races;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_SHARED_H
