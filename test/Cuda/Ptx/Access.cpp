//===- Access.cpp - accesses of a warp to memory --------------------------===//
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
  Request request = {it->bytes * it->vector};
  Space space = it->space;
  forLanes(active, [&] {
    uint64_t address = addressIn(operand);
    request.add(address);
    space = it->spaceOf(address);
    Place at = place(address, request.bytes, !it->loads, space);
    it->loads ? load(at, address) : store(at);
  });
  if (space == Space::Global)
    (it->loads ? block->counters.loads : block->counters.stores).add(request);
  else if (space == Space::Shared)
    block->counters.shared.add(request);
}

/// Throws unless all bytes are in this memory of `size` bytes.
static void requireWithin(const char *memory, uint64_t size, uint64_t address,
                          int bytes) {
  REQUIRE(address <= size && size - address >= unsigned(bytes),
          "uses %d bytes of %s from %lu on, of which there are %lu", bytes,
          memory, address, size);
}

Place Warp::place(uint64_t address, int bytes, bool writes, Space space) {
  static std::vector<uint8_t> written(64, 1);
  if (space == Space::Parameter) {
    const std::vector<int64_t> &sizes = block->kernel.parameters;
    size_t number = address / parameterStride, at = address % parameterStride;
    requireWithin("its parameter",
                  number < sizes.size() ? uint64_t(sizes[number]) : 0, at,
                  bytes);
    const uint64_t *argument = &block->launch.arguments[number];
    return {reinterpret_cast<std::byte *>(const_cast<uint64_t *>(argument)) +
                at,
            written.data()};
  }
  // "Vectors": an address must be a multiple of the size of its access.
  REQUIRE(address % unsigned(bytes) == 0,
          "uses address %lu, which is not a multiple of %d", address, bytes);
  if (space == Space::Shared)
    return sharedPlace(address & ~sharedWindow, bytes, writes);
  if (space == Space::Local) {
    auto at = address & ~localWindow, size = uint64_t(block->kernel.local);
    requireWithin("local memory", size, at, bytes);
    return local.at(lane * size + at);
  }
  Place found = block->memory.at(address, bytes, writes ? "writes" : "reads");
  int64_t self = int64_t(block->number) * block->launch.threads() + thread();
  block->races.access(address, bytes, self, block->barriers, writes);
  return found;
}

Place Warp::sharedPlace(uint64_t address, int bytes, bool writes) {
  requireWithin("shared memory", block->shared.content.size(), address, bytes);
  block->sharedRaces.access(address, bytes, thread(), block->barriers, writes);
  Place found = block->shared.at(address);
  REQUIRE(writes || !std::memchr(found.marks, copyPending, size_t(bytes)),
          "reads from byte %lu of shared memory, which no thread has written: "
          "an asynchronous copy has not been waited for",
          address);
  return found;
}

uint64_t bitsOf(const Place &it, Plane plane, int bytes) {
  uint64_t bits = 0;
  if (plane == values)
    std::memcpy(&bits, it.bytes, size_t(bytes));
  else
    for (int i = 0; i < bytes; ++i)
      bits |= it.marks[i] ? 0 : uint64_t(0xff) << 8 * i;
  return bits;
}

void Warp::load(Place from, uint64_t address) {
  int unused = 64 - 8 * it->bytes;
  notice(from, it->bytes * it->vector);
  gathered[lane] = {address, it};
  for (const Operand &part : partsOf(it->operands[0])) {
    for (Plane plane : used()) {
      uint64_t bits = bitsOf(from, plane, it->bytes);
      if (it->isSigned)
        bits = uint64_t(int64_t(bits << unused) >> unused);
      row(part, plane)[lane] = bits;
    }
    from = from + it->bytes;
  }
}

void Warp::store(Place to) {
  for (const Operand &part : partsOf(it->operands[1])) {
    std::memcpy(to.bytes, &read(part)[lane], size_t(it->bytes));
    uint64_t bits = read(part, unwritten)[lane];
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
  Request reads = {copied}, writes = reads;
  forLanes(active, [&] {
    AsyncCopy copy = {addressIn(it->operands[0]), addressIn(it->operands[1]),
                      int(addressIn(it->operands.back()))};
    REQUIRE(copy.to % copied == 0 && (!copy.bytes || copy.from % copied == 0),
            "copies from or to an address that is not a multiple of 16");
    REQUIRE(copy.bytes >= 0 && copy.bytes <= copied,
            "copies more than 16 bytes");
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
  block->counters.loads.add(reads);
  block->counters.shared.add(writes);
}

void Warp::commitCopies() {
  forLanes(active, [&] { copies[lane].emplace_back(); });
}

void Warp::awaitCopies() {
  // Plus the open group: only wait_all waits for what is not committed.
  size_t groupsLeft =
      it->has("wait_all") ? 0 : size_t(read(it->operands[0])[0]) + 1;
  forLanes(active, [&] {
    auto &groups = copies[lane];
    for (; groups.size() > groupsLeft; groups.erase(groups.begin()))
      for (const AsyncCopy &copy : groups.front()) {
        Place to = sharedPlace(copy.to, copied, true);
        to.fill(copied, 0, 1);
        if (copy.bytes)
          to.copy(place(copy.from, copy.bytes, false, Space::Global),
                  copy.bytes);
      }
  });
}

void Races::check(Mark &mark, uint64_t byte, const Access &self,
                  bool writes) const {
  for (bool written : {true, false}) {
    Access &last = mark[written];
    bool isOther = last.thread && last.thread != self.thread;
    bool threads =
        last.barriers == self.barriers && (last.severalThreads || isOther);
    bool blocks = last.severalBlocks || (isOther && last.block != self.block);
    REQUIRE((!writes && !written) || (!threads && !blocks),
            "race on %s: thread %u %s byte %lu, which thread %u has %s with no "
            "barrier between them",
            memory, self.thread - 1, writes ? "writes" : "reads", byte,
            last.thread - 1, written ? "written" : "read");
    if (writes == written)
      last = {self.thread, self.block, self.barriers, threads, blocks};
  }
}

void Races::access(uint64_t address, int bytes, int64_t thread, int barriers,
                   bool writes) {
  Page &page = pages[address / pageSize]; // An aligned access is in one page.
  Access self = {uint32_t(thread + 1), uint32_t(thread / threads), barriers,
                 false, false};
  for (uint64_t byte = address; byte < address + unsigned(bytes); byte += step)
    check(page[byte % pageSize], byte, self, writes);
}

/// The units of `size` bytes that lanes of a request access.
static std::vector<uint64_t> unitsOf(const Request &request, int first, int end,
                                     unsigned size) {
  std::vector<uint64_t> units;
  for (int i = first; i < std::min(end, request.lanes); ++i) {
    uint64_t last = (request.address[i] + unsigned(request.bytes) - 1) / size;
    for (uint64_t it = request.address[i] / size; it <= last; ++it)
      units.push_back(it);
  }
  std::ranges::sort(units);
  units.erase(std::ranges::unique(units).begin(), units.end());
  return units;
}

void Traffic::add(const Request &request) {
  requests += request.lanes > 0;
  sectors += int64_t(unitsOf(request, 0, request.lanes, sector).size());
  bytes += int64_t(request.lanes) * request.bytes;
}

void Banks::add(const Request &request) {
  constexpr unsigned banks = 32, word = 4;
  int together = std::min(32, 128 / std::max(request.bytes, 4));
  requests += request.lanes > 0;
  for (int first = 0; first < request.lanes; first += together) {
    std::array<int64_t, banks> words = {};
    for (uint64_t it : unitsOf(request, first, first + together, word))
      ++words[it % banks];
    waves += *std::ranges::max_element(words);
  }
}

} // namespace emulator::ptx
