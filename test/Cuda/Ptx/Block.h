//===- Block.h - runs the blocks of a launch --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes of a warp at the same instruction execute it together; if lanes
// diverge, those at the lowest instruction run first. A warp runs until it
// waits at a barrier. A seed determines the order of blocks and of warps.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_BLOCK_H
#define STAGEWRIGHT_TEST_CUDA_PTX_BLOCK_H

#include "../Memory.h"
#include "Counters.h"
#include "Lanes.h"
#include "Races.h"
#include "Shared.h"

#include <random>

namespace emulator::ptx {

struct Launch {
  const Kernel *kernel;
  std::array<unsigned, 3> grid, block;
  int64_t dynamicShared;
  std::vector<std::byte> arguments; ///< laid out as `Kernel::parameters`
};

class BlockRunner {
public:
  BlockRunner(const Launch &launch, Memory &memory, Counters &counters)
      : launch(launch), kernel(*launch.kernel), memory(memory),
        counters(counters), shared(threads()),
        races("the device's memory", threads(), 4) {}

  /// Runs all blocks; throws `Violation`, which names the place.
  void run(std::mt19937 &random);

private:
  struct AsyncCopy {
    uint64_t to, from;
    int bytes; ///< read, of 16; the rest is filled with zeros
  };
  struct Warp {
    int number;
    uint32_t lanes; ///< mask of the lanes that exist
    uint32_t left = 0, atBarrier = 0, atShuffle = 0;
    std::array<int, warpSize> next = {};  ///< instruction, by lane
    std::vector<uint64_t> registers = {}; ///< by register and lane
    std::vector<std::byte> local = {};    ///< by lane and byte
    /// Copies not yet run by lane and group; the last group is still open.
    std::array<std::deque<std::vector<AsyncCopy>>, warpSize> copies = {};

    uint32_t waiting() const { return left | atBarrier | atShuffle; }
  };

  void begin(std::array<unsigned, 3> at);
  void runBlock(std::mt19937 &random);
  /// Runs a warp until all its lanes wait or have exited.
  void advance(Warp &warp);
  void step(Warp &warp, uint32_t mask, int at);
  void finishBarrier();
  void shuffle(Warp &warp, uint32_t mask, const Instruction &it);
  void move(Warp &warp, uint32_t mask, const Instruction &it);
  void access(Warp &warp, uint32_t mask, const Instruction &it);
  void loadMatrices(Warp &warp, uint32_t mask, const Instruction &it);
  void multiply(Warp &warp, uint32_t mask, const Instruction &it);
  void copy(Warp &warp, uint32_t mask, const Instruction &it);
  void beginCopy(Warp &warp, int lane, const Instruction &it, Request &reads);
  void finishCopies(Warp &warp, int lane, size_t groupsLeft);
  /// Throws unless all lanes take part in this warp-level instruction.
  void requireAll(const Warp &warp, uint32_t mask, const Instruction &it) const;
  std::byte *place(Warp &warp, int lane, const Instruction &it, uint64_t &at);
  void load(Warp &warp, int lane, const Instruction &it, const std::byte *from);
  void store(Warp &warp, int lane, const Instruction &it, std::byte *to);

  /// The value of an operand in all lanes; stored in `room` if it is computed.
  const uint64_t *read(const Warp &warp, const Operand &operand, Row &room);
  uint64_t *registerOf(Warp &warp, const Operand &operand);
  int64_t threads() const {
    auto [x, y, z] = launch.block;
    return int64_t(x) * y * z;
  }
  int threadOf(const Warp &warp, int lane) const {
    return warp.number * warpSize + lane;
  }
  uint64_t special(const Warp &warp, Special which, int lane) const;
  [[noreturn]] void refuse(const Warp &warp, int lane, const Instruction &it,
                           const std::string &why) const;

  const Launch &launch;
  const Kernel &kernel;
  Memory &memory;
  Counters &counters;
  std::vector<Warp> warps;
  Shared shared;
  Races races;
  std::array<unsigned, 3> block = {}; ///< in the grid
  int64_t blockNumber = 0;
  int barriers = 0; ///< passed by the block so far
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_BLOCK_H
