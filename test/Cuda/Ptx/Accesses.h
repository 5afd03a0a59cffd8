//===- Accesses.h - races and cost of memory accesses -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_ACCESSES_H
#define STAGEWRIGHT_TEST_CUDA_PTX_ACCESSES_H

#include <array>
#include <cstdint>
#include <unordered_map>

namespace emulator::ptx {

/// Threads of one block may exchange values through memory if a barrier
/// separates the accesses; threads of different blocks may not. Otherwise two
/// accesses to one byte, at least one of them a write, are a race: also within
/// a warp, whose threads need not run in lockstep.
class Races {
public:
  /// `memory` is its name in errors, `threads` the size of a block. Every
  /// `step`-th byte of an access is checked, beginning with the first.
  Races(const char *memory, int64_t threads, unsigned step)
      : memory(memory), threads(threads), step(step) {}

  /// Checks one access of `thread`, which is numbered over all blocks, after
  /// `barriers` barriers of its block; throws `Violation`.
  void access(uint64_t address, int bytes, int64_t thread, int barriers,
              bool writes);

private:
  struct Access {
    uint32_t thread, block; ///< the thread's number plus 1; 0: none
    int barriers;           ///< of its block before
    bool severalThreads;    ///< have accessed it after these barriers
    bool severalBlocks;     ///< have accessed it
  };
  /// The last read and the last write of a byte.
  using Mark = std::array<Access, 2>;
  static constexpr int64_t pageSize = 1024;
  using Page = std::array<Mark, pageSize>;

  void check(Mark &mark, uint64_t byte, const Access &self, bool writes) const;

  const char *memory;
  int64_t threads;
  unsigned step;
  std::unordered_map<uint64_t, Page> pages;
};

/// Addresses of the lanes of a warp that take part in one access.
struct Request {
  int bytes; ///< per lane
  int lanes = 0;
  uint64_t address[32] = {};

  void add(uint64_t lane) { address[lanes++] = lane; }
};

/// Global loads or stores: each access of a warp is one request, which moves
/// whole sectors.
struct Traffic {
  static constexpr int sector = 32; ///< bytes: guide, "Device Memory Accesses"
  int64_t requests = 0, sectors = 0, bytes = 0;

  void add(const Request &request);
};

/// Shared memory has 32 banks, each of which serves one word of 4 bytes at a
/// time: a request takes as many waves as the max number of words in one bank.
/// Accesses of 8 and 16 bytes are split into half and quarter warps.
struct Banks {
  int64_t requests = 0, waves = 0;

  void add(const Request &request);
};

struct Counters {
  int64_t launches = 0, blocks = 0;
  int64_t instructions = 0; ///< counted once per warp
  int64_t barriers = 0;     ///< counted once per block
  Traffic loads, stores;
  Banks shared;
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_ACCESSES_H
