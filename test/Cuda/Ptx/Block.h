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

#include "Counters.h"
#include "Races.h"
#include "Warp.h"

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
        counters(counters), sharedRaces("shared memory", threads(), 1),
        races("the device's memory", threads(), 4) {}

  /// Runs all blocks; throws `Violation`, which names the place.
  void run(std::mt19937 &random);

  // What instructions do.
  void compute(Warp &warp, uint32_t mask, const Instruction &it);
  void move(Warp &warp, uint32_t mask, const Instruction &it);
  void access(Warp &warp, uint32_t mask, const Instruction &it);
  void branch(Warp &warp, uint32_t mask, const Instruction &it);
  void leave(Warp &warp, uint32_t mask, const Instruction &it);
  void barrier(Warp &warp, uint32_t mask, const Instruction &it);
  void shuffle(Warp &warp, uint32_t mask, const Instruction &it);
  void loadMatrices(Warp &warp, uint32_t mask, const Instruction &it);
  void multiply(Warp &warp, uint32_t mask, const Instruction &it);
  /// cp.async, its commits and its waits.
  void copy(Warp &warp, uint32_t mask, const Instruction &it);
  void nothing(Warp &, uint32_t, const Instruction &) {}

private:
  void begin(std::array<unsigned, 3> at);
  void runBlock(std::mt19937 &random);
  /// Runs a warp until all its lanes wait or have exited.
  void advance(Warp &warp);
  void step(Warp &warp, uint32_t mask, int at);
  void finishBarrier();
  void beginCopy(Warp &warp, int lane, const Instruction &it, Request &reads);
  void finishCopies(Warp &warp, int lane, size_t groupsLeft);
  /// Throws unless all lanes take part in this warp-level instruction.
  void requireAll(const Warp &warp, uint32_t mask, const Instruction &it) const;
  /// Throws if the operand has unwritten bits; `what` is its use.
  void requireWritten(Warp &warp, uint32_t mask, const Operand &operand,
                      const Instruction &it, const char *what);

  /// The memory that a lane accesses with an address in this space, which is
  /// then no longer generic.
  Place place(Warp &warp, int lane, uint64_t address, int bytes, bool writes,
              Space &space);
  Place sharedPlace(int thread, uint64_t address, int bytes, bool writes);
  void load(Warp &warp, int lane, const Instruction &it, const Place &from,
            uint64_t address);
  void store(Warp &warp, int lane, const Instruction &it, const Place &to);

  /// An operand, or the base of an address, in all lanes; stored in `room` if
  /// it is computed.
  const Row &read(Warp &warp, const Operand &operand, Row &room,
                  Plane plane = values);
  Lanes lanesOf(Warp &warp, uint32_t mask, const Instruction &it, Plane plane,
                Row *rooms);
  int64_t threads() const {
    auto [x, y, z] = launch.block;
    return int64_t(x) * y * z;
  }
  int threadOf(const Warp &warp, int lane) const {
    return warp.number * warpSize + lane;
  }
  uint64_t special(const Warp &warp, int which, int lane) const;
  /// Calls `function`; a `Violation` in it then names the place.
  template <typename Function>
  void inLane(const Warp &warp, int lane, const Instruction &it,
              Function function) const {
    try {
      function();
    } catch (const Violation &error) {
      refuse(warp, lane, it, error.what());
    }
  }
  [[noreturn]] void refuse(const Warp &warp, int lane, const Instruction &it,
                           const std::string &why) const;

  const Launch &launch;
  const Kernel &kernel;
  Memory &memory;
  Counters &counters;
  std::vector<Warp> warps;
  Bytes shared;
  Races sharedRaces, races;
  std::array<unsigned, 3> block = {}; ///< in the grid
  int64_t blockNumber = 0;
  int barriers = 0; ///< passed by the block so far
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_BLOCK_H
