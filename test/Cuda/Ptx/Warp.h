//===- Warp.h - registers and memory of a warp ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_WARP_H
#define STAGEWRIGHT_TEST_CUDA_PTX_WARP_H

#include "Lanes.h"

#include <deque>
#include <span>

namespace emulator::ptx {

/// The content of registers or memory: values, or for each of their bits
/// whether it is, or comes from, memory that nothing had written.
enum Plane { values, unwritten };

/// Bytes, each with a mark as in `Memory`.
struct Place {
  using Bits = std::array<std::byte, 64>;
  std::byte *bytes;
  uint8_t *marks;

  /// A plane of some bytes; stored in `room` if it is computed.
  const std::byte *in(Plane plane, int bytes, Bits &room) const;
};

/// The mark of bytes that an asynchronous copy will write.
constexpr uint8_t copyPending = 3;

/// Shared memory of a block, or local memory of a warp.
class Bytes {
public:
  /// Begins with `bytes` bytes, all marked as not written.
  void begin(int64_t bytes);
  int64_t size() const { return int64_t(content.size()); }
  Place at(uint64_t offset) {
    return {content.data() + offset, marks.data() + offset};
  }

private:
  std::vector<std::byte> content;
  std::vector<uint8_t> marks;
};

/// Calls `function(lane)` for the lanes of a mask.
template <typename Function> void forEach(uint32_t mask, Function function) {
  for (; mask; mask &= mask - 1)
    function(std::countr_zero(mask));
}

/// Where a value was loaded that nothing had written.
struct Origin {
  uint64_t address = 0;
  const Instruction *load = nullptr;
};

struct AsyncCopy {
  uint64_t to, from;
  int bytes; ///< read, of 16; the rest is filled with zeros
};

struct Warp {
  int number;
  uint32_t lanes; ///< mask of the lanes that exist
  uint32_t left = 0, atBarrier = 0, atShuffle = 0;
  std::array<int, warpSize> next = {}; ///< instruction, by lane
  /// By register. The plane `unwritten` is empty until a bit of it is set.
  std::array<std::vector<Row>, 2> planes = {};
  /// By register and lane, of values with unwritten bits.
  std::vector<std::array<Origin, warpSize>> origins = {};
  Bytes local = {}; ///< by lane and byte
  /// Copies not yet run by lane and group; the last group is still open.
  std::array<std::deque<std::vector<AsyncCopy>>, warpSize> copies = {};

  uint32_t waiting() const { return left | atBarrier | atShuffle; }
  bool hasUnwritten() const { return !planes[unwritten].empty(); }
  /// The planes that are not empty.
  std::span<const Plane> used() const {
    static constexpr Plane all[] = {values, unwritten};
    return {all, hasUnwritten() ? 2u : 1u};
  }
  void beginUnwritten();
  /// Begins the plane `unwritten` if one of these bytes is.
  void notice(const Place &from, int bytes) {
    if (!hasUnwritten() && std::memchr(from.marks, 0, size_t(bytes)))
      beginUnwritten();
  }
  /// The lanes of a register.
  Row &row(const Operand &operand, Plane plane = values) {
    return planes[plane][size_t(operand.number)];
  }
};

/// The parts of a vector, or the operand itself.
inline std::span<const Operand> partsOf(const Operand &it) {
  return it.kind == Operand::Vector ? std::span(it.parts) : std::span(&it, 1);
}

/// Passes the origins of an instruction's operands on to its results.
class Spread {
public:
  Spread(Warp &warp, uint32_t mask, const Instruction &it);
  ~Spread();
  Spread(const Spread &) = delete;
  Spread &operator=(const Spread &) = delete;

private:
  Warp &warp;
  uint32_t mask;
  const Instruction &it;
  std::array<Origin, warpSize> found; ///< by lane
  Origin any;
};

/// Computes which bits of a result are unwritten, from the values and the
/// unwritten bits of the operands.
void carry(const Instruction &it, const Lanes &given, Lanes &bits);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_WARP_H
