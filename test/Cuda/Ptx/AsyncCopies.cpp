//===- AsyncCopies.cpp - copies that threads begin and wait for -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy runs as late as possible: when its thread waits for it. Until then no
// thread may read its destination; other threads may after a barrier.
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

static constexpr int copied = 16; ///< bytes: the only size of cp.async.cg

void BlockRunner::copy(Warp &warp, uint32_t mask, const Instruction &it) {
  bool commits = it.has("commit_group"), waits = it.has("wait_all");
  size_t groupsLeft = 0;
  Row room;
  if (it.has("wait_group")) {
    waits = true;
    // Plus the open group: only wait_all waits for what is not committed.
    groupsLeft = size_t(read(warp, it.operands[0], room)[0]) + 1;
  }
  Request reads, writes;
  reads.bytes = writes.bytes = copied;
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    auto &groups = warp.copies[size_t(lane)];
    if (groups.empty())
      groups.emplace_back();
    try {
      if (commits) {
        groups.emplace_back();
      } else if (waits) {
        finishCopies(warp, lane, groupsLeft);
      } else {
        beginCopy(warp, lane, it, reads);
        writes.address[writes.lanes++] = groups.back().back().to;
      }
    } catch (const Violation &error) {
      refuse(warp, lane, it, error.what());
    }
  }
  if (reads.lanes)
    counters.loads.add(reads);
  if (writes.lanes)
    counters.shared.add(writes);
}

void BlockRunner::beginCopy(Warp &warp, int lane, const Instruction &it,
                            Request &reads) {
  Row room;
  auto address = [&](size_t number) {
    const Operand &operand = it.operands[number];
    return read(warp, operand.parts[0], room)[lane] + uint64_t(operand.offset);
  };
  AsyncCopy copy = {address(0), address(1), copied};
  if (it.operands.size() > 3)
    copy.bytes = int(read(warp, it.operands[3], room)[lane]);
  if (copy.to % copied != 0 || (copy.bytes && copy.from % copied != 0))
    throw Violation("copies from or to an address that is no multiple of 16");
  if (copy.bytes < 0 || copy.bytes > copied)
    throw Violation("copies more than 16 bytes");
  int thread = threadOf(warp, lane);
  shared.access(thread, copy.to, copied, barriers, /*writes=*/true);
  shared.forget(copy.to, copied);
  if (copy.bytes) {
    memory.at(copy.from, copy.bytes, "reads");
    reads.address[reads.lanes++] = copy.from;
  }
  warp.copies[size_t(lane)].back().push_back(copy);
}

void BlockRunner::finishCopies(Warp &warp, int lane, size_t groupsLeft) {
  auto &groups = warp.copies[size_t(lane)];
  int thread = threadOf(warp, lane);
  for (; groups.size() > groupsLeft; groups.pop_front())
    for (const AsyncCopy &it : groups.front()) {
      std::byte *to =
          shared.access(thread, it.to, copied, barriers, /*writes=*/true);
      std::fill_n(to, copied, std::byte(0));
      if (!it.bytes)
        continue;
      races.access(it.from, it.bytes, blockNumber * threads() + thread,
                   barriers, /*writes=*/false);
      memory.requireKnown(it.from, it.bytes, "reads");
      std::memcpy(to, memory.at(it.from, it.bytes, "reads"), size_t(it.bytes));
    }
}

} // namespace emulator::ptx
