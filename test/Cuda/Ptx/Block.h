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

#include "Accesses.h"
#include "Lanes.h"

#include <random>

namespace emulator::ptx {

/// The content of registers or memory: values, or for each of their bits
/// whether it is, or comes from, memory that nothing had written.
enum Plane { values, unwritten };

/// A plane of up to 8 bytes.
uint64_t bitsOf(const Place &it, Plane plane, int bytes);

/// The mark of bytes that an asynchronous copy will write.
constexpr uint8_t copyPending = 3;

/// Shared memory of a block, or local memory of a warp.
struct Bytes {
  std::vector<std::byte> content;
  std::vector<uint8_t> marks;

  /// Begins with `bytes` bytes, all marked as not written.
  void begin(int64_t bytes);
  Place at(uint64_t offset) {
    return {content.data() + offset, marks.data() + offset};
  }
};

/// Where a value was loaded that nothing had written.
struct Origin {
  uint64_t address = 0;
  const Instruction *load = nullptr;
};

struct AsyncCopy {
  uint64_t to, from;
  int bytes; ///< read, of 16; the rest is filled with zeros
};

class BlockRunner;

/// 32 threads of a block, and the instruction that some of them execute.
struct Warp {
  BlockRunner *block;
  size_t number;
  uint32_t lanes; ///< mask of the lanes that exist
  /// By register. The plane `unwritten` is empty until a bit of it is set.
  std::array<std::vector<Row>, 2> planes = {};
  Bytes local = {}; ///< by lane and byte
  uint32_t left = 0, atBarrier = 0, atShuffle = 0;
  std::array<size_t, warpSize> next = {}; ///< instruction, by lane
  const Instruction *it = nullptr;        ///< that is executed
  uint32_t active = 0;                    ///< mask of the lanes that execute it
  size_t lane = 0;                        ///< in `forLanes`
  /// By register and lane, of values with unwritten bits.
  std::vector<std::array<Origin, warpSize>> origins = {};
  /// By lane, of the results of the current instruction.
  std::array<Origin, warpSize> gathered = {};
  /// Copies not yet run by lane and group; the last group is still open.
  std::array<std::vector<std::vector<AsyncCopy>>, warpSize> copies = {};

  /// Runs until all lanes wait or have exited.
  void advance();
  bool hasLeft() const { return left == lanes; }
  /// Calls `function` with each lane of a mask as `lane`. A `Violation` in it
  /// then names the place.
  template <typename Function> void forLanes(uint32_t mask, Function function) {
    try {
      for (; mask; mask &= mask - 1) {
        lane = size_t(std::countr_zero(mask));
        function();
      }
    } catch (const Violation &error) {
      refuse(error.what());
    }
  }

  // What instructions do.
  void compute();
  void move();
  void access();
  void branch() {
    forLanes(active, [&] { next[lane] = it->target; });
  }
  void leave() { left |= active; }
  void barrier() { atBarrier |= active; }
  void shuffle();
  void loadMatrices();
  void multiply();
  void copy();
  void commitCopies();
  void awaitCopies();
  void nothing() {}

private:
  void step();
  [[noreturn]] void refuse(const char *why) const;
  int64_t thread() const { return int64_t(number * warpSize + lane); }
  /// Throws unless all lanes take part in this warp-level instruction.
  void requireAll();

  bool hasUnwritten() const { return !planes[unwritten].empty(); }
  /// The planes that are not empty.
  std::span<const Plane> used() const {
    static constexpr Plane all[] = {values, unwritten};
    return {all, hasUnwritten() ? 2u : 1u};
  }
  /// Throws if the operand has unwritten bits; `what` is its use.
  void requireWritten(const Operand &operand, const char *what);
  /// Begins the plane `unwritten` if one of these bytes is.
  void notice(const Place &from, int bytes);
  /// Called before and after an instruction: unwritten bits of its results have
  /// the origins of those of its operands.
  void gatherOrigins();
  void spreadOrigins();

  /// The memory that `lane` accesses with an address in this space.
  Place place(uint64_t address, int bytes, bool writes, Space space);
  Place sharedPlace(uint64_t address, int bytes, bool writes);
  void load(Place from, uint64_t address);
  void store(Place to);

  /// The lanes of a register.
  Row &row(const Operand &operand, Plane plane = values) {
    return planes[plane][operand.number];
  }
  /// An operand in all lanes.
  const Row &read(const Operand &operand, Plane plane = values);
  /// The address that `lane` has in an operand.
  uint64_t addressIn(const Operand &operand) {
    return read(operand)[lane] + uint64_t(operand.offset);
  }
  Lanes lanesOf(Plane plane);
};

/// The parts of a vector, or the operand itself.
inline std::span<const Operand> partsOf(const Operand &it) {
  return it.kind == Operand::Vector ? std::span(it.parts) : std::span(&it, 1);
}

/// Computes which bits of a result are unwritten, from the values and the
/// unwritten bits of the operands.
void carry(const Instruction &it, const Lanes &given, const Lanes &bits);

struct Launch {
  Kernel *kernel;
  std::array<unsigned, 3> grid, block;
  int64_t dynamicShared;
  std::vector<uint64_t> arguments; ///< as many as `Kernel::parameters`

  int64_t threads() const { return int64_t(block[0]) * block[1] * block[2]; }
};

class BlockRunner {
public:
  BlockRunner(const Launch &launch, Memory &memory, Counters &counters)
      : launch(launch), kernel(*launch.kernel), memory(memory),
        counters(counters), sharedRaces("shared memory", launch.threads(), 1),
        races("the device's memory", launch.threads(), 4) {}

  /// Runs all blocks; throws `Violation`, which names the place.
  void run(std::mt19937 &random);

private:
  friend struct Warp;

  void begin();
  void runBlock(std::mt19937 &random);
  void finishBarrier();

  const Launch &launch;
  const Kernel &kernel;
  Memory &memory;
  Counters &counters;
  std::vector<Warp> warps;
  Bytes shared;
  Races sharedRaces, races;
  std::array<unsigned, 3> place = {}; ///< of the block in the grid
  uint64_t number = 0;                ///< of the block
  int barriers = 0;                   ///< passed by the block so far
};

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_BLOCK_H
