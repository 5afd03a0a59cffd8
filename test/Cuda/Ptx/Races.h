//===- Races.h - threads of a launch that meet in device memory -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of one block may hand values over through the device's memory where a
// barrier lies between; threads of two blocks may not. An access of 4 bytes or
// more is looked at word by word, a shorter one at its first byte.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_RACES_H
#define STAGEWRIGHT_TEST_CUDA_PTX_RACES_H

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace emulator::ptx {

class Races {
public:
  /// Of a launch with so many threads in a block.
  explicit Races(int64_t threads) : threads(threads) {}

  /// One access of a thread, counted over all blocks, after so many barriers of
  /// its block; throws `Violation`.
  void access(uint64_t address, int bytes, int64_t thread, int barriers,
              bool writes);

private:
  /// The last to write and to read; numbers are one more, 0 is nobody.
  struct Mark {
    uint32_t writer, reader;
    uint16_t writerBarriers, readerBarriers;
    bool severalBlocks; ///< have read
  };
  static constexpr int64_t pageSize = 4096;
  using Page = std::array<Mark, pageSize>;

  bool meets(uint32_t other, uint16_t barriersThen, int64_t thread,
             int barriers) const {
    int64_t theirs = int64_t(other) - 1;
    return other && theirs != thread &&
           (theirs / threads != thread / threads || barriersThen == barriers);
  }

  int64_t threads;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = ~uint64_t(0);
  Page *last = nullptr;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_RACES_H
