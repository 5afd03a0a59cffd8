//===- Access.cpp - loads, stores and copies of a warp --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

void Bytes::begin(int64_t bytes) {
  content.assign(size_t(bytes), std::byte(0xcb)); // A conspicuous value.
  marks.assign(size_t(bytes), 0);
}

void Warp::access() {
  const Operand &operand = it->operands[it->loads ? 1 : 0];
  requireWritten(operand, "an address");
  Row room;
  const Row &addresses = read(operand, room);
  Request request = {it->bytes * it->vector};
  Space space = it->space;
  forLanes(active, [&] {
    uint64_t address = addresses[lane];
    request.add(address);
    if (it->space == Space::Generic)
      space = address & sharedWindow  ? Space::Shared
              : address & localWindow ? Space::Local
                                      : Space::Global;
    uint64_t window = space == Space::Shared  ? sharedWindow
                      : space == Space::Local ? localWindow
                                              : 0;
    Place at = place(address, request.bytes, !it->loads, space);
    it->loads ? load(at, address | window) : store(at);
  });
  if (space == Space::Global)
    (it->loads ? block->counters.loads : block->counters.stores).add(request);
  else if (space == Space::Shared && request.lanes)
    block->counters.shared.add(request);
}

Place Warp::place(uint64_t address, int bytes, bool writes, Space space) {
  static std::vector<uint8_t> written(64, 1);
  if (space == Space::Parameter)
    return {const_cast<std::byte *>(&block->launch.arguments[address]),
            written.data()};
  // "Vectors": an address must be a multiple of the size of its access.
  if (address % unsigned(bytes) != 0)
    throw Violation(text("uses address %lu, which is not a multiple of %d",
                         address, bytes));
  if (space == Space::Shared)
    return sharedPlace(address & ~sharedWindow, bytes, writes);
  if (space == Space::Local) {
    auto at = address & ~localWindow, size = uint64_t(block->kernel.local);
    if (at + unsigned(bytes) > size)
      throw Violation("leaves its local memory");
    return local.at(lane * size + at);
  }
  Place found = block->memory.at(address, bytes, writes ? "writes" : "reads");
  int64_t self = int64_t(block->number) * block->threads() + thread();
  block->races.access(address, bytes, self, block->barriers, writes);
  return found;
}

Place Warp::sharedPlace(uint64_t address, int bytes, bool writes) {
  uint64_t size = block->shared.content.size();
  if (address > size || size - address < unsigned(bytes))
    throw Violation(text("uses %d bytes of shared memory from %lu on, of which "
                         "there are %lu",
                         bytes, address, size));
  block->sharedRaces.access(address, bytes, thread(), block->barriers, writes);
  Place found = block->shared.at(address);
  if (!writes && std::memchr(found.marks, copyPending, size_t(bytes)))
    throw Violation(text("reads from byte %lu of shared memory, which no "
                         "thread has written: an asynchronous copy has not "
                         "been waited for",
                         address));
  return found;
}

const std::byte *bitsOf(const Place &it, Plane plane, int bytes,
                        std::byte *room) {
  if (plane == values)
    return it.bytes;
  for (int i = 0; i < bytes; ++i)
    room[i] = std::byte(it.marks[i] ? 0 : 0xff);
  return room;
}

void Warp::load(const Place &from, uint64_t address) {
  int size = it->bytes * it->vector, unused = 64 - 8 * it->bytes;
  notice(from, size);
  std::byte room[64];
  for (Plane plane : used()) {
    const std::byte *at = bitsOf(from, plane, size, room);
    for (const Operand &part : partsOf(it->operands[0])) {
      uint64_t value = 0;
      std::memcpy(&value, at, size_t(it->bytes));
      at += it->bytes;
      if (part.kind == Operand::None)
        continue;
      if (it->isSigned)
        value = uint64_t(int64_t(value << unused) >> unused);
      row(part, plane)[lane] = value;
      if (plane == unwritten)
        origins[part.number][lane] = {address, it};
    }
  }
}

void Warp::store(Place to) {
  Row room;
  for (const Operand &part : partsOf(it->operands[1])) {
    std::memcpy(to.bytes, &read(part, room)[lane], size_t(it->bytes));
    uint64_t bits = read(part, room, unwritten)[lane];
    for (int i = 0; i < it->bytes; ++i)
      to.marks[i] = !(bits >> 8 * i & 0xff);
    to = to + it->bytes;
  }
}

// An asynchronous copy runs as late as possible: when its thread waits for it.
// Until then no thread may read its destination; others may after a barrier.

static constexpr int copied = 16; ///< bytes: the only size of cp.async.cg

void Warp::copy() {
  for (const Operand &operand : it->operands)
    requireWritten(operand, "an operand");
  // The last operand is the number of bytes to read, or else `copied`.
  Row rooms[3];
  const Row &to = read(it->operands[0], rooms[0]),
            &from = read(it->operands[1], rooms[1]),
            &bytes = read(it->operands.back(), rooms[2]);
  Request reads = {copied}, writes = reads;
  forLanes(active, [&] {
    AsyncCopy copy = {to[lane], from[lane], int(bytes[lane])};
    if (copy.to % copied != 0 || (copy.bytes && copy.from % copied != 0))
      throw Violation(
          "copies from or to an address that is not a multiple of 16");
    if (copy.bytes < 0 || copy.bytes > copied)
      throw Violation("copies more than 16 bytes");
    std::fill_n(sharedPlace(copy.to, copied, true).marks, copied, copyPending);
    writes.add(copy.to);
    if (copy.bytes) {
      block->memory.at(copy.from, copy.bytes, "reads");
      reads.add(copy.from);
    }
    if (copies[lane].empty())
      copies[lane].emplace_back();
    copies[lane].back().push_back(copy);
  });
  if (reads.lanes)
    block->counters.loads.add(reads);
  if (writes.lanes)
    block->counters.shared.add(writes);
}

void Warp::commitCopies() {
  forLanes(active, [&] { copies[lane].emplace_back(); });
}

void Warp::awaitCopies() {
  Row room;
  // Plus the open group: only wait_all waits for what is not committed.
  size_t groupsLeft =
      it->has("wait_all") ? 0 : size_t(read(it->operands[0], room)[0]) + 1;
  auto finish = [&](const AsyncCopy &copy) {
    Place to = sharedPlace(copy.to, copied, true);
    to.fill(copied, 0, 1);
    if (copy.bytes)
      to.copy(place(copy.from, copy.bytes, false, Space::Global), copy.bytes);
  };
  forLanes(active, [&] {
    auto &groups = copies[lane];
    for (; groups.size() > groupsLeft; groups.erase(groups.begin()))
      std::ranges::for_each(groups.front(), finish);
  });
}

} // namespace emulator::ptx
