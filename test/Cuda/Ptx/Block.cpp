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
  // Runs each block once: from a random one, with a random stride that is
  // coprime to the count.
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
    // Initializes registers and local memory to a conspicuous value.
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

/// Requires all threads at the same instruction, as `bar.sync` is aligned.
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
  if (size_t(at) == kernel.code.size()) { // After the last instruction.
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
  case Instruction::Matrix:
    loadMatrices(warp, chosen, it);
    break;
  case Instruction::Product:
    multiply(warp, chosen, it);
    break;
  case Instruction::Copy:
    copy(warp, chosen, it);
    break;
  case Instruction::Nothing:
    break;
  }
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
