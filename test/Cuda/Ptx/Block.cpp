//===- Block.cpp - runs the blocks of a launch ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>
#include <numeric>

namespace emulator::ptx {

void BlockRunner::run(std::mt19937 &random) {
  auto [x, y, z] = launch.grid;
  uint64_t blocks = uint64_t(x) * y * z;
  ++counters.launches;
  counters.blocks += int64_t(blocks);
  // Each once, from anywhere, with a step that shares no divisor with the
  // count.
  uint64_t at = random() % blocks, stride = 1 + random() % blocks;
  while (std::gcd(stride, blocks) != 1)
    ++stride;
  for (uint64_t i = 0; i < blocks; ++i, at = (at + stride) % blocks) {
    blockNumber = int64_t(at);
    begin({unsigned(at % x), unsigned(at / x % y), unsigned(at / x / y)});
    runBlock(random);
  }
}

void BlockRunner::begin(std::array<unsigned, 3> at) {
  block = at;
  barriers = 0;
  shared.begin(kernel.shared + launch.dynamicShared);
  warps.resize(size_t((threads() + warpSize - 1) / warpSize));
  for (size_t w = 0; w < warps.size(); ++w) {
    int lanes = std::min(int(threads()) - int(w) * warpSize, warpSize);
    Warp fresh = {int(w), ~0u >> (warpSize - lanes)};
    // A register that nothing wrote holds what should not be used.
    fresh.registers = std::move(warps[w].registers);
    fresh.registers.assign(size_t(kernel.registers) * warpSize,
                           0xcbcbcbcbcbcbcbcb);
    fresh.local = std::move(warps[w].local);
    fresh.local.assign(size_t(kernel.local) * warpSize, std::byte(0xcb));
    warps[w] = std::move(fresh);
  }
}

void BlockRunner::runBlock(std::mt19937 &random) {
  std::vector<size_t> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  for (;;) {
    if (order.size() > 1)
      std::shuffle(order.begin(), order.end(), random);
    for (size_t w : order)
      advance(warps[w]);
    if (std::all_of(warps.begin(), warps.end(),
                    [](const Warp &it) { return it.left == it.lanes; }))
      return;
    finishBarrier();
  }
}

/// All threads must be there, at one place: `bar.sync` is aligned.
void BlockRunner::finishBarrier() {
  const Warp *first = nullptr;
  for (const Warp &warp : warps)
    if (warp.atBarrier)
      first = &warp;
  int at = first->next[size_t(std::countr_zero(first->atBarrier))];
  const Instruction &it = kernel.code[size_t(at)];
  for (Warp &warp : warps)
    for (int lane = 0; lane < warpSize; ++lane) {
      if (!(warp.lanes >> lane & 1))
        continue;
      if (!(warp.atBarrier >> lane & 1))
        refuse(warp, lane, it, "has left before a barrier where others wait");
      if (warp.next[size_t(lane)] != at)
        refuse(warp, lane, it, "waits at another barrier than others");
    }
  for (Warp &warp : warps) {
    warp.atBarrier = 0;
    for (int &next : warp.next)
      ++next;
  }
  shared.barrier();
  ++barriers;
  ++counters.barriers;
}

void BlockRunner::advance(Warp &warp) {
  for (;;) {
    uint32_t ready = warp.lanes & ~warp.waiting();
    if (!ready) {
      if (!warp.atShuffle)
        return;
      int lane = std::countr_zero(warp.atShuffle);
      refuse(warp, lane, kernel.code[size_t(warp.next[size_t(lane)])],
             "waits for lanes of its mask that never come");
    }
    int at = int(kernel.code.size());
    for (uint32_t left = ready; left; left &= left - 1)
      at = std::min(at, warp.next[size_t(std::countr_zero(left))]);
    uint32_t mask = 0;
    for (uint32_t left = ready; left; left &= left - 1) {
      int lane = std::countr_zero(left);
      mask |= uint32_t(warp.next[size_t(lane)] == at) << lane;
    }
    step(warp, mask, at);
  }
}

void BlockRunner::step(Warp &warp, uint32_t mask, int at) {
  if (size_t(at) == kernel.code.size()) { // Behind the last instruction.
    warp.left |= mask;
    return;
  }
  const Instruction &it = kernel.code[size_t(at)];
  ++counters.instructions;
  uint32_t chosen = mask;
  if (it.guard >= 0) {
    const uint64_t *guard = &warp.registers[size_t(it.guard) * warpSize];
    for (int lane = 0; lane < warpSize; ++lane)
      if (bool(guard[lane] & 1) == it.guardInverted)
        chosen &= ~(1u << lane);
  }
  bool waits = it.act == Instruction::Barrier || it.act == Instruction::Shuffle;
  for (uint32_t left = waits ? mask & ~chosen : mask; left; left &= left - 1)
    ++warp.next[size_t(std::countr_zero(left))];
  switch (it.act) {
  case Instruction::Compute: {
    Lanes lanes = {chosen, registerOf(warp, it.operands[0])};
    Row room[4];
    for (size_t i = 1; i < it.operands.size() && i <= 4; ++i)
      lanes.in[i - 1] = read(warp, it.operands[i], room[i - 1]);
    it.handler(lanes);
    break;
  }
  case Instruction::Move:
    move(warp, chosen, it);
    break;
  case Instruction::Load:
  case Instruction::Store:
    if (chosen)
      access(warp, chosen, it);
    break;
  case Instruction::Branch:
    for (uint32_t left = chosen; left; left &= left - 1)
      warp.next[size_t(std::countr_zero(left))] = it.target;
    break;
  case Instruction::Return:
    warp.left |= chosen;
    break;
  case Instruction::Barrier:
    warp.atBarrier |= chosen;
    break;
  case Instruction::Shuffle:
    shuffle(warp, chosen, it);
    break;
  case Instruction::Nothing:
    break;
  }
}

/// A value, or values of 16 and 32 bits into one and out of it.
void BlockRunner::move(Warp &warp, uint32_t mask, const Instruction &it) {
  const Operand &to = it.operands[0], &from = it.operands[1];
  Row room;
  if (from.kind == Operand::Vector) {
    int bits = 8 *
               int(it.words.back() == "b32"   ? 4
                   : it.words.back() == "b64" ? 8
                                              : 16) /
               int(from.parts.size());
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
  // Those of the mask that wait here already, and those that come now.
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
    return; // The others come later.
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

void BlockRunner::refuse(const Warp &warp, int lane, const Instruction &it,
                         const std::string &why) const {
  auto numbers = [](unsigned x, unsigned y, unsigned z) {
    return std::to_string(x) + "," + std::to_string(y) + "," +
           std::to_string(z);
  };
  throw Violation("kernel '" + kernel.name + "', block " +
                  numbers(block[0], block[1], block[2]) + ", thread " +
                  std::to_string(threadOf(warp, lane)) + " " + why + "; line " +
                  std::to_string(it.line) + ": '" + it.text + "'");
}

} // namespace emulator::ptx
