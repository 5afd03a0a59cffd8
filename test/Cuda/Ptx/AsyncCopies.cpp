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
  forEach(mask, [&](int lane) {
    auto &groups = warp.copies[size_t(lane)];
    if (groups.empty())
      groups.emplace_back();
    if (commits)
      groups.emplace_back();
    inLane(warp, lane, it, [&] {
      if (waits)
        return finishCopies(warp, lane, groupsLeft);
      if (!commits) {
        beginCopy(warp, lane, it, reads);
        writes.address[writes.lanes++] = groups.back().back().to;
      }
    });
  });
  if (reads.lanes)
    counters.loads.add(reads);
  if (writes.lanes)
    counters.shared.add(writes);
}

void BlockRunner::beginCopy(Warp &warp, int lane, const Instruction &it,
                            Request &reads) {
  Row room;
  auto number = [&](size_t operand) {
    const Operand &from = it.operands[operand];
    requireWritten(warp, 1u << lane, from, it, "an operand");
    return read(warp, from, room)[size_t(lane)] + uint64_t(from.offset);
  };
  AsyncCopy copy = {number(0), number(1), copied};
  if (it.operands.size() > 3)
    copy.bytes = int(number(3));
  if (copy.to % copied != 0 || (copy.bytes && copy.from % copied != 0))
    throw Violation("copies from or to an address that is no multiple of 16");
  if (copy.bytes < 0 || copy.bytes > copied)
    throw Violation("copies more than 16 bytes");
  Place to = sharedPlace(threadOf(warp, lane), copy.to, copied, true);
  std::fill_n(to.marks, copied, copyPending);
  if (copy.bytes) {
    memory.at(copy.from, copy.bytes, "reads");
    reads.address[reads.lanes++] = copy.from;
  }
  warp.copies[size_t(lane)].back().push_back(copy);
}

void BlockRunner::finishCopies(Warp &warp, int lane, size_t groupsLeft) {
  auto &groups = warp.copies[size_t(lane)];
  for (; groups.size() > groupsLeft; groups.pop_front())
    for (const AsyncCopy &it : groups.front()) {
      Place to = sharedPlace(threadOf(warp, lane), it.to, copied, true);
      std::fill_n(to.bytes, copied, std::byte(0));
      std::fill_n(to.marks, copied, uint8_t(1));
      if (!it.bytes)
        continue;
      Space space = Space::Global;
      Place from = place(warp, lane, it.from, it.bytes, false, space);
      std::copy_n(from.bytes, it.bytes, to.bytes);
      std::copy_n(from.marks, it.bytes, to.marks);
    }
}

} // namespace emulator::ptx
