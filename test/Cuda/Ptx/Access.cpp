//===- Access.cpp - loads and stores of a warp ----------------------------===//
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

static uint64_t generic(uint64_t address, Space space) {
  return address | (space == Space::Shared  ? sharedWindow
                    : space == Space::Local ? localWindow
                                            : 0);
}

void BlockRunner::access(Warp &warp, uint32_t mask, const Instruction &it) {
  const Operand &operand = it.operands[it.loads ? 1 : 0];
  requireWritten(warp, mask, operand, it, "an address");
  Row room;
  const Row &addresses = read(warp, operand, room);
  Request request;
  request.bytes = it.bytes * it.vector;
  Space space = it.space;
  forEach(mask, [&](int lane) {
    uint64_t address = addresses[size_t(lane)] + uint64_t(operand.offset);
    space = it.space;
    inLane(warp, lane, it, [&] {
      Place at = place(warp, lane, address, request.bytes, !it.loads, space);
      it.loads ? load(warp, lane, it, at, generic(address, space))
               : store(warp, lane, it, at);
    });
    request.address[request.lanes++] = address;
  });
  if (space == Space::Global)
    (it.loads ? counters.loads : counters.stores).add(request);
  else if (space == Space::Shared && request.lanes)
    counters.shared.add(request);
}

Place BlockRunner::place(Warp &warp, int lane, uint64_t address, int bytes,
                         bool writes, Space &space) {
  static std::array<uint8_t, 64> written = [] {
    std::array<uint8_t, 64> marks;
    marks.fill(1);
    return marks;
  }();
  if (space == Space::Parameter)
    return {const_cast<std::byte *>(&launch.arguments[address]),
            written.data()};
  // "Vectors": an address must be a multiple of the size of its access.
  if (address % unsigned(bytes) != 0)
    throw Violation("uses address " + std::to_string(address) +
                    ", which is not a multiple of " + std::to_string(bytes));
  if (space == Space::Generic)
    space = address & sharedWindow  ? Space::Shared
            : address & localWindow ? Space::Local
                                    : Space::Global;
  int thread = threadOf(warp, lane);
  if (space == Space::Shared)
    return sharedPlace(thread, address & ~sharedWindow, bytes, writes);
  if (space == Space::Local) {
    uint64_t at = address & ~localWindow;
    if (at + unsigned(bytes) > uint64_t(kernel.local))
      throw Violation("leaves its local memory");
    return warp.local.at(uint64_t(lane) * uint64_t(kernel.local) + at);
  }
  std::byte *found = memory.at(address, bytes, writes ? "writes" : "reads");
  races.access(address, bytes, blockNumber * threads() + thread, barriers,
               writes);
  return {found, memory.marks(address)};
}

Place BlockRunner::sharedPlace(int thread, uint64_t address, int bytes,
                               bool writes) {
  auto size = uint64_t(shared.size());
  if (address > size || size - address < unsigned(bytes))
    throw Violation("uses " + std::to_string(bytes) +
                    " bytes of shared memory from " + std::to_string(address) +
                    " on, of which there are " + std::to_string(size));
  sharedRaces.access(address, bytes, thread, barriers, writes);
  Place found = shared.at(address);
  if (!writes && std::memchr(found.marks, copyPending, size_t(bytes)))
    throw Violation("reads from byte " + std::to_string(address) +
                    " of shared memory, which no thread has written: an "
                    "asynchronous copy has not been waited for");
  return found;
}

const std::byte *Place::in(Plane plane, int bytes, Bits &room) const {
  if (plane == values)
    return this->bytes;
  for (size_t i = 0; i < size_t(bytes); ++i)
    room[i] = std::byte(marks[i] ? 0 : 0xff);
  return room.data();
}

void BlockRunner::load(Warp &warp, int lane, const Instruction &it,
                       const Place &from, uint64_t address) {
  std::span<const Operand> to = partsOf(it.operands[0]);
  int size = it.bytes * it.vector, unused = 64 - 8 * it.bytes;
  warp.notice(from, size);
  Place::Bits room;
  for (Plane plane : warp.used()) {
    const std::byte *at = from.in(plane, size, room);
    for (const Operand &part : to) {
      uint64_t value = 0;
      std::memcpy(&value, at, size_t(it.bytes));
      at += it.bytes;
      if (part.kind == Operand::None)
        continue;
      if (it.isSigned)
        value = uint64_t(int64_t(value << unused) >> unused);
      warp.row(part, plane)[size_t(lane)] = value;
      if (plane == unwritten)
        warp.origins[size_t(part.number)][size_t(lane)] = {address, &it};
    }
  }
}

void BlockRunner::store(Warp &warp, int lane, const Instruction &it,
                        const Place &to) {
  Row room;
  size_t at = 0, size = size_t(it.bytes);
  for (const Operand &part : partsOf(it.operands[1])) {
    std::memcpy(to.bytes + at, &read(warp, part, room)[size_t(lane)], size);
    std::fill_n(to.marks + at, size, uint8_t(1));
    if (warp.hasUnwritten())
      for (size_t i = 0; i < size; ++i)
        to.marks[at + i] =
            !(read(warp, part, room, unwritten)[size_t(lane)] >> 8 * i & 0xff);
    at += size;
  }
}

} // namespace emulator::ptx
