//===- Shared.h - the memory that a block's threads share -------*- C++ -*-===//
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
  /// Of blocks of so many threads.
  explicit Shared(int64_t threads) : races("shared memory", threads, 1) {}

  /// Bytes of one block, not known yet.
  void begin(int64_t bytes);
  /// Where so many bytes are for a thread, after so many barriers; throws
  /// `Violation`. What is read must have been written in this block.
  std::byte *access(int thread, uint64_t address, int bytes, int barriers,
                    bool writes);
  /// Bytes that something will write: until then nobody may read them.
  void forget(uint64_t address, int bytes);

private:
  std::vector<std::byte> content;
  std::vector<bool> known; ///< by byte
  Races races;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_SHARED_H
