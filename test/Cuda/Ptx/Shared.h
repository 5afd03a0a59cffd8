//===- Shared.h - the memory that a block's threads share -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_SHARED_H
#define STAGEWRIGHT_TEST_CUDA_PTX_SHARED_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator::ptx {

/// Shared memory, with what each byte saw since the last barrier. Two threads
/// that use a byte between the same two barriers, one of them to write, race:
/// also within a warp, whose threads need not keep step.
class Shared {
public:
  /// Bytes of one block, not known yet.
  void begin(int64_t bytes);
  /// All threads have come to a barrier.
  void barrier() { ++epoch; }

  /// Where so many bytes are for a thread; throws `Violation`.
  std::byte *read(int thread, uint64_t address, int bytes);
  std::byte *write(int thread, uint64_t address, int bytes);

private:
  struct Mark {
    int epoch = 0;
    int writer = -1, reader = -1;
    bool shared = false; ///< several threads have read it
    bool known = false;  ///< it was written in this block
  };
  Mark &markOf(uint64_t byte, int thread, bool writes);
  void requireRoom(uint64_t address, int bytes) const;

  std::vector<std::byte> content;
  std::vector<Mark> marks;
  int epoch = 0;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_SHARED_H
