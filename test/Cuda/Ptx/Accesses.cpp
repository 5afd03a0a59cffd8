//===- Accesses.cpp - races and cost of memory accesses -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Accesses.h"

#include "../Memory.h"

#include <algorithm>
#include <vector>

namespace emulator::ptx {

void Races::check(Mark &mark, uint64_t byte, const Access &self,
                  bool writes) const {
  // Whether a different thread made this access, and no barrier separates it.
  auto meets = [&](const Access &other) {
    return other.thread && other.thread != self.thread &&
           (blockOf(other) != blockOf(self) || other.barriers == self.barriers);
  };
  bool written = meets(mark.writer);
  bool read = writes &&
              (mark.severalBlocks ||
               (mark.severalThreads && mark.reader.barriers == self.barriers) ||
               meets(mark.reader));
  if (written || read)
    throw Violation(
        text("race on %s: thread %u %s byte %lu, which thread %u has %s with "
             "no barrier between them",
             memory, self.thread - 1, writes ? "writes" : "reads", byte,
             (written ? mark.writer : mark.reader).thread - 1,
             written ? "written" : "read"));
  if (!writes) {
    bool other = mark.reader.thread && mark.reader.thread != self.thread;
    mark.severalBlocks |= other && blockOf(mark.reader) != blockOf(self);
    mark.severalThreads =
        mark.reader.barriers == self.barriers && (mark.severalThreads || other);
  }
  (writes ? mark.writer : mark.reader) = self;
}

void Races::access(uint64_t address, int bytes, int64_t thread, int barriers,
                   bool writes) {
  uint64_t number = address / pageSize; // An aligned access is in one page.
  if (number != lastNumber) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    lastNumber = number;
    last = page.get();
  }
  for (uint64_t byte = address; byte < address + unsigned(bytes); byte += step)
    check((*last)[byte % pageSize], byte, {uint32_t(thread + 1), barriers},
          writes);
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
  ++requests;
  sectors += int64_t(unitsOf(request, 0, request.lanes, sector).size());
  bytes += int64_t(request.lanes) * request.bytes;
}

void Banks::add(const Request &request) {
  constexpr unsigned banks = 32, word = 4;
  int together = std::min(32, 128 / std::max(request.bytes, 4));
  ++requests;
  for (int first = 0; first < request.lanes; first += together) {
    std::array<int64_t, banks> words = {};
    for (uint64_t it : unitsOf(request, first, first + together, word))
      ++words[it % banks];
    waves += *std::ranges::max_element(words);
  }
}

} // namespace emulator::ptx
