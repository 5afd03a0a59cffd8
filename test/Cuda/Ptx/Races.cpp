//===- Races.cpp - threads of a launch that meet in device memory ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Races.h"

#include "../Memory.h"

#include <string>

namespace emulator::ptx {

void Races::access(uint64_t address, int bytes, int64_t thread, int barriers,
                   bool writes) {
  constexpr int word = 4;
  uint64_t number = address / pageSize; // An aligned access has one page.
  if (number != lastNumber) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    lastNumber = number;
    last = page.get();
  }
  for (int byte = 0; byte < bytes; byte += word) {
    Mark &mark = (*last)[address % pageSize + unsigned(byte)];
    bool written = meets(mark.writer, mark.writerBarriers, thread, barriers);
    bool read =
        writes && (mark.severalBlocks ||
                   meets(mark.reader, mark.readerBarriers, thread, barriers));
    if (written || read)
      throw Violation(
          std::string("race on the device's memory: ") +
          (writes ? "writes" : "reads") + " what thread " +
          std::to_string((written ? mark.writer : mark.reader) - 1) +
          " of all blocks has " + (written ? "written" : "read") +
          " with no barrier between them");
    auto self = uint32_t(thread + 1);
    if (writes) {
      mark.writer = self;
      mark.writerBarriers = uint16_t(barriers);
      continue;
    }
    mark.severalBlocks |=
        mark.reader && (mark.reader - 1) / threads != thread / threads;
    mark.reader = self;
    mark.readerBarriers = uint16_t(barriers);
  }
}

} // namespace emulator::ptx
