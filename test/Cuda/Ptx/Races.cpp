//===- Races.cpp - data races between threads of a launch -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Races.h"

#include "../Memory.h"

#include <string>

namespace emulator::ptx {

void Races::clear() {
  pages.clear();
  lastNumber = ~uint64_t(0);
}

bool Races::meets(uint32_t other, int barriersThen, int64_t thread,
                  int barriers) const {
  int64_t theirs = int64_t(other) - 1;
  return other && theirs != thread &&
         (theirs / threads != thread / threads || barriersThen == barriers);
}

void Races::check(Mark &mark, uint64_t byte, int64_t thread, int barriers,
                  bool writes) const {
  bool written = meets(mark.writer, mark.writerBarriers, thread, barriers);
  bool read =
      writes && (mark.severalBlocks ||
                 (mark.severalThreads && mark.readerBarriers == barriers) ||
                 meets(mark.reader, mark.readerBarriers, thread, barriers));
  if (written || read)
    throw Violation(std::string("race on ") + memory + ": thread " +
                    std::to_string(thread) + (writes ? " writes" : " reads") +
                    " byte " + std::to_string(byte) + ", which thread " +
                    std::to_string((written ? mark.writer : mark.reader) - 1) +
                    " has " + (written ? "written" : "read") +
                    " with no barrier between them");
  auto self = uint32_t(thread + 1);
  if (writes) {
    mark.writer = self;
    mark.writerBarriers = barriers;
    return;
  }
  bool other = mark.reader && mark.reader != self;
  mark.severalBlocks |=
      other && (mark.reader - 1) / threads != thread / threads;
  mark.severalThreads =
      mark.readerBarriers == barriers && (mark.severalThreads || other);
  mark.reader = self;
  mark.readerBarriers = barriers;
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
  for (int byte = 0; byte < bytes; byte += step)
    check((*last)[address % pageSize + unsigned(byte)],
          address + unsigned(byte), thread, barriers, writes);
}

} // namespace emulator::ptx
