//===- Block.cpp - runs the blocks of a launch ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <numeric>

namespace emulator::ptx {

void BlockRunner::run(std::mt19937 &random) {
  auto [x, y, z] = launch.grid;
  uint64_t blocks = uint64_t(x) * y * z;
  ++counters.launches;
  counters.blocks += int64_t(blocks);
  // Runs each block once: from a random one, with a random stride that is
  // coprime to the count.
  number = random() % blocks;
  uint64_t stride = 1 + random() % blocks;
  while (std::gcd(stride, blocks) != 1)
    ++stride;
  for (uint64_t i = 0; i < blocks; ++i, number = (number + stride) % blocks) {
    place = {unsigned(number % x), unsigned(number / x % y),
             unsigned(number / x / y)};
    begin();
    runBlock(random);
  }
}

void BlockRunner::begin() {
  barriers = 0;
  shared.begin(kernel.shared + launch.dynamicShared);
  sharedRaces = Races("shared memory", launch.threads(), 1);
  auto threads = size_t(launch.threads());
  warps.resize((threads + warpSize - 1) / warpSize);
  for (size_t w = 0; w < warps.size(); ++w) {
    size_t count = std::min(threads - w * warpSize, warpSize);
    uint32_t lanes = ~0u >> (warpSize - count);
    Warp &it = warps[w]; // Its memory is used again.
    it = {this, w, lanes, {std::move(it.planes[values])}, std::move(it.local)};
    Row conspicuous;
    conspicuous.fill(0xcbcbcbcbcbcbcbcb);
    it.planes[values].assign(kernel.registers, conspicuous);
    auto [x, y, z] = launch.block;
    for (size_t lane = 0; lane < warpSize; ++lane) {
      auto thread = unsigned(w * warpSize + lane);
      const std::array<unsigned, 3> special[] = {
          {thread % x, thread / x % y, thread / x / y},
          launch.block,
          place,
          launch.grid,
          {unsigned(lane), unsigned(w), unsigned(kernel.shared)}};
      for (size_t i = 0; builtins[i] != "%cc"; ++i)
        it.planes[values][i][lane] = special[i / 3][i % 3];
    }
    it.local.begin(kernel.local * int64_t(warpSize));
  }
}

void BlockRunner::runBlock(std::mt19937 &random) {
  std::vector<size_t> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  for (;; finishBarrier()) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t w : order)
      warps[w].advance();
    if (std::ranges::all_of(warps, &Warp::hasLeft))
      return;
  }
}

/// Requires all threads at the same instruction, as `bar.sync` is aligned.
void BlockRunner::finishBarrier() {
  size_t at = 0;
  for (Warp &warp : warps)
    warp.forLanes(warp.atBarrier, [&] { at = warp.next[warp.lane]; });
  for (Warp &warp : warps) {
    warp.it = &kernel.code[at];
    warp.forLanes(warp.lanes, [&] {
      REQUIRE(warp.atBarrier >> warp.lane & 1,
              "has left before a barrier where others wait");
      REQUIRE(warp.next[warp.lane]++ == at,
              "waits at another barrier than others");
    });
    warp.atBarrier = 0;
  }
  ++barriers;
  ++counters.barriers;
}

void Warp::advance() {
  const std::vector<Instruction> &code = block->kernel.code;
  while (uint32_t ready = lanes & ~(left | atBarrier | atShuffle)) {
    size_t at = code.size();
    forLanes(ready, [&] { at = std::min(at, next[lane]); });
    active = 0;
    forLanes(ready, [&] { active |= uint32_t(next[lane] == at) << lane; });
    it = &code[at];
    step();
  }
  forLanes(atShuffle, [&] {
    it = &code[next[lane]];
    throw Violation("waits for lanes of its mask that never come");
  });
}

void Warp::step() {
  ++block->counters.instructions;
  uint32_t all = active;
  if (it->guard.kind != Operand::None) {
    requireWritten(it->guard, "a condition");
    const Row &guard = read(it->guard);
    forLanes(all, [&] {
      bool runs = (guard[lane] & 1) != it->isInverted;
      active &= ~(uint32_t(!runs) << lane);
    });
  }
  bool waits = it->act == &Warp::barrier || it->act == &Warp::shuffle;
  forLanes(waits ? all & ~active : all, [&] { ++next[lane]; });
  gatherOrigins();
  (this->*it->act)();
  spreadOrigins();
}

void Warp::refuse(const char *why) const {
  auto [x, y, z] = block->place;
  throw Violation(
      text("kernel '%s', block %u,%u,%u, thread %ld %s; line %d: '%s'",
           block->kernel.name.c_str(), x, y, z, thread(), why, it->line,
           it->text.c_str()));
}

} // namespace emulator::ptx
