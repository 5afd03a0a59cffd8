//===- Races.h - threads of a launch that meet in memory ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of one block may hand values over through memory where a barrier lies
// between; threads of two blocks may not. So two threads at one byte race
// between the same two barriers, one of them to write: also within a warp,
// whose threads need not keep step.
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
  /// In memory of a name, by blocks of so many threads. Of an access every
  /// `step` bytes are looked at, the first of them always.
  Races(const char *memory, int64_t threads, int step)
      : memory(memory), threads(threads), step(step) {}

  /// One access of a thread, counted over all blocks, after so many barriers of
  /// its block; throws `Violation`.
  void access(uint64_t address, int bytes, int64_t thread, int barriers,
              bool writes);
  /// Forgets all accesses.
  void clear();

private:
  /// The last to write and to read; numbers are one more, 0 is nobody.
  struct Mark {
    uint32_t writer, reader;
    int writerBarriers, readerBarriers;
    bool severalThreads; ///< have read after `readerBarriers`
    bool severalBlocks;  ///< have read
  };
  static constexpr int64_t pageSize = 4096;
  using Page = std::array<Mark, pageSize>;

  /// Whether another thread was there that no barrier parts from this one.
  bool meets(uint32_t other, int barriersThen, int64_t thread,
             int barriers) const;
  void check(Mark &mark, uint64_t byte, int64_t thread, int barriers,
             bool writes) const;

  const char *memory;
  int64_t threads;
  int step;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = ~uint64_t(0);
  Page *last = nullptr;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_RACES_H
