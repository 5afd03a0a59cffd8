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
  sharedRaces.clear();
  warps.resize(size_t((threads() + warpSize - 1) / warpSize));
  for (size_t w = 0; w < warps.size(); ++w) {
    int lanes = std::min(int(threads()) - int(w) * warpSize, warpSize);
    Warp fresh = {int(w), ~0u >> (warpSize - lanes)};
    fresh.planes[values] = std::move(warps[w].planes[values]);
    Row conspicuous;
    conspicuous.fill(0xcbcbcbcbcbcbcbcb);
    fresh.planes[values].assign(size_t(kernel.registers), conspicuous);
    fresh.local = std::move(warps[w].local);
    fresh.local.begin(kernel.local * warpSize);
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
    forEach(ready,
            [&](int lane) { at = std::min(at, warp.next[size_t(lane)]); });
    uint32_t mask = 0;
    forEach(ready, [&](int lane) {
      mask |= uint32_t(warp.next[size_t(lane)] == at) << lane;
    });
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
  if (it.guard.kind != Operand::None) {
    requireWritten(warp, mask, it.guard, it, "a condition");
    Row room;
    const Row &guard = read(warp, it.guard, room);
    for (size_t lane = 0; lane < warpSize; ++lane)
      if (!(guard[lane] & 1))
        chosen &= ~(1u << lane);
  }
  bool waits =
      it.act == &BlockRunner::barrier || it.act == &BlockRunner::shuffle;
  forEach(waits ? mask & ~chosen : mask,
          [&](int lane) { ++warp.next[size_t(lane)]; });
  (this->*it.act)(warp, chosen, it);
}

void BlockRunner::branch(Warp &warp, uint32_t mask, const Instruction &it) {
  forEach(mask, [&](int lane) { warp.next[size_t(lane)] = it.target; });
}

void BlockRunner::leave(Warp &warp, uint32_t mask, const Instruction &) {
  warp.left |= mask;
}

void BlockRunner::barrier(Warp &warp, uint32_t mask, const Instruction &) {
  warp.atBarrier |= mask;
}

void BlockRunner::refuse(const Warp &warp, int lane, const Instruction &it,
                         const std::string &why) const {
  std::string where = "kernel '" + kernel.name + "', block ";
  for (unsigned number : block)
    where += std::to_string(number) + ",";
  throw Violation(where + " thread " + std::to_string(threadOf(warp, lane)) +
                  " " + why + "; line " + std::to_string(it.line) + ": '" +
                  it.text + "'");
}

} // namespace emulator::ptx
