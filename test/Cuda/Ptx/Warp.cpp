//===- Warp.cpp - moves and shuffles of a warp ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Body.h"

namespace emulator::ptx {

/// Copies a value, packs values into one register, or unpacks one.
void BlockRunner::move(Warp &warp, uint32_t mask, const Instruction &it) {
  const Operand &to = it.operands[0], &from = it.operands[1];
  Row room;
  if (from.kind == Operand::Vector) {
    int bits = 8 * int(bytesOf(it.words.back())) / int(from.parts.size());
    uint64_t *out = registerOf(warp, to);
    Row joined = {};
    for (size_t p = 0; p < from.parts.size(); ++p) {
      const uint64_t *part = read(warp, from.parts[p], room);
      for (int lane = 0; lane < warpSize; ++lane)
        joined[size_t(lane)] |= (part[lane] & (~uint64_t(0) >> (64 - bits)))
                                << (bits * int(p));
    }
    for (int lane = 0; lane < warpSize; ++lane)
      if (mask >> lane & 1)
        out[lane] = joined[size_t(lane)];
    return;
  }
  const uint64_t *values = read(warp, from, room);
  size_t count = to.kind == Operand::Vector ? to.parts.size() : 1;
  int bits = it.words.back() == "b32" ? 32 : 64;
  for (size_t p = 0; p < count; ++p) {
    const Operand &part = count > 1 ? to.parts[p] : to;
    if (part.kind == Operand::None)
      continue;
    uint64_t *out = registerOf(warp, part);
    for (int lane = 0; lane < warpSize; ++lane)
      if (mask >> lane & 1)
        out[lane] = count == 1 ? values[lane]
                               : values[lane] >> (bits / int(count) * int(p)) &
                                     (~uint64_t(0) >> (64 - bits / int(count)));
  }
}

void BlockRunner::shuffle(Warp &warp, uint32_t mask, const Instruction &it) {
  Row rooms[4];
  const uint64_t *values = read(warp, it.operands[1], rooms[0]);
  const uint64_t *b = read(warp, it.operands[2], rooms[1]);
  const uint64_t *c = read(warp, it.operands[3], rooms[2]);
  const uint64_t *members = read(warp, it.operands[4], rooms[3]);
  if (!mask)
    return;
  int first = std::countr_zero(mask);
  int at = warp.next[size_t(first)];
  // `wanted`: lanes of the members' mask; `here`: lanes that have arrived.
  auto wanted = uint32_t(members[first]) & warp.lanes & ~warp.left;
  uint32_t here = mask;
  for (int lane = 0; lane < warpSize; ++lane)
    if ((warp.atShuffle >> lane & 1) && warp.next[size_t(lane)] == at)
      here |= 1u << lane;
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    if (!(uint32_t(members[lane]) >> lane & 1))
      refuse(warp, lane, it, "is not in the mask of its own shuffle");
  }
  warp.atShuffle |= mask;
  if ((here & wanted) != wanted)
    return; // Others have not arrived yet.
  warp.atShuffle &= ~here;
  std::string_view mode = it.words[2];
  uint64_t *out = registerOf(warp, it.operands[0]);
  Row result;
  for (uint32_t left = here; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    int by = int(b[lane] & 31), clamp = int(c[lane] & 31);
    int segment = int(c[lane] >> 8 & 31);
    int last = (lane & segment) | (clamp & ~segment), begin = lane & segment;
    int from = mode == "up"     ? lane - by
               : mode == "down" ? lane + by
               : mode == "bfly" ? lane ^ by
                                : begin | (by & ~segment);
    if (mode == "up" ? from < last : from > last)
      from = lane;
    if (!(here >> from & 1))
      refuse(warp, lane, it,
             "takes the value of lane " + std::to_string(from) +
                 ", which is not there");
    result[size_t(lane)] = values[from];
  }
  for (uint32_t left = here; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    out[lane] = result[size_t(lane)];
    ++warp.next[size_t(lane)];
  }
}

uint64_t *BlockRunner::registerOf(Warp &warp, const Operand &operand) {
  return &warp.registers[size_t(operand.number) * warpSize];
}

const uint64_t *BlockRunner::read(const Warp &warp, const Operand &operand,
                                  Row &room) {
  if (operand.kind == Operand::Constant)
    return kernel.constants[size_t(operand.number)].data();
  if (operand.kind == Operand::SpecialRegister) {
    for (int lane = 0; lane < warpSize; ++lane)
      room[size_t(lane)] = special(warp, Special(operand.number), lane);
    return room.data();
  }
  const uint64_t *values = &warp.registers[size_t(operand.number) * warpSize];
  if (!operand.inverted)
    return values;
  for (int lane = 0; lane < warpSize; ++lane)
    room[size_t(lane)] = !(values[lane] & 1);
  return room.data();
}

uint64_t BlockRunner::special(const Warp &warp, Special which, int lane) const {
  auto thread = unsigned(threadOf(warp, lane));
  auto [x, y, z] = launch.block;
  switch (which) {
  case Special::ThreadX:
    return thread % x;
  case Special::ThreadY:
    return thread / x % y;
  case Special::ThreadZ:
    return thread / x / y;
  case Special::BlockDimX:
  case Special::BlockDimY:
  case Special::BlockDimZ:
    return launch.block[size_t(which) - size_t(Special::BlockDimX)];
  case Special::BlockX:
  case Special::BlockY:
  case Special::BlockZ:
    return block[size_t(which) - size_t(Special::BlockX)];
  case Special::GridX:
  case Special::GridY:
  case Special::GridZ:
    return launch.grid[size_t(which) - size_t(Special::GridX)];
  case Special::Lane:
    return uint64_t(lane);
  case Special::Warp:
    return uint64_t(warp.number);
  }
  return 0;
}

} // namespace emulator::ptx
