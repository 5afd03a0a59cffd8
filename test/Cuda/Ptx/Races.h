//===- Races.h - data races between threads of a launch ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads of one block may exchange values through memory if a barrier
// separates the accesses; threads of different blocks may not. Otherwise two
// accesses to one byte, at least one of them a write, are a race: also within a
// warp, whose threads need not run in lockstep.
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
  /// `memory` is its name in errors, `threads` the size of a block. Every
  /// `step`-th byte of an access is checked, beginning with the first.
  Races(const char *memory, int64_t threads, int step)
      : memory(memory), threads(threads), step(step) {}

  /// Checks one access of `thread`, which is numbered over all blocks, after
  /// `barriers` barriers of its block; throws `Violation`.
  void access(uint64_t address, int bytes, int64_t thread, int barriers,
              bool writes);
  /// Forgets all accesses.
  void clear();

private:
  /// The last writer and reader of a byte: thread number plus 1; 0 is none.
  struct Mark {
    uint32_t writer, reader;
    int writerBarriers, readerBarriers;
    bool severalThreads; ///< several have read after `readerBarriers`
    bool severalBlocks;  ///< several have read
  };
  static constexpr int64_t pageSize = 4096;
  using Page = std::array<Mark, pageSize>;

  /// Whether `other` is a different thread, and no barrier separates its access
  /// from this one.
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
