//===- Shared.cpp - the memory that a block's threads share ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shared.h"

#include "../Memory.h"

#include <string>

namespace emulator::ptx {

void Shared::begin(int64_t bytes) {
  content.resize(size_t(bytes));
  marks.assign(size_t(bytes), {});
  epoch = 0;
}

void Shared::requireRoom(uint64_t address, int bytes) const {
  if (address > content.size() || content.size() - address < size_t(bytes))
    throw Violation("uses " + std::to_string(bytes) +
                    " bytes of shared memory from " + std::to_string(address) +
                    " on, of which there are " +
                    std::to_string(content.size()));
}

Shared::Mark &Shared::markOf(uint64_t byte, int thread, bool writes) {
  Mark &mark = marks[byte];
  if (mark.epoch != epoch)
    mark = {epoch, -1, -1, false, mark.known};
  bool otherWrote = mark.writer >= 0 && mark.writer != thread;
  bool otherRead = mark.shared || (mark.reader >= 0 && mark.reader != thread);
  if (otherWrote || (writes && otherRead))
    throw Violation("race on shared memory: thread " + std::to_string(thread) +
                    (writes ? " writes" : " reads") + " byte " +
                    std::to_string(byte) + ", which thread " +
                    std::to_string(otherWrote ? mark.writer : mark.reader) +
                    " has " + (otherWrote ? "written" : "read") +
                    " since the last barrier");
  return mark;
}

std::byte *Shared::read(int thread, uint64_t address, int bytes) {
  requireRoom(address, bytes);
  for (uint64_t byte = address; byte < address + unsigned(bytes); ++byte) {
    Mark &mark = markOf(byte, thread, false);
    if (!mark.known)
      throw Violation("reads byte " + std::to_string(byte) +
                      " of shared memory, which no thread has written");
    mark.shared |= mark.reader >= 0 && mark.reader != thread;
    mark.reader = thread;
  }
  return content.data() + address;
}

std::byte *Shared::write(int thread, uint64_t address, int bytes) {
  requireRoom(address, bytes);
  for (uint64_t byte = address; byte < address + unsigned(bytes); ++byte) {
    Mark &mark = markOf(byte, thread, true);
    mark.writer = thread;
    mark.known = true;
  }
  return content.data() + address;
}

} // namespace emulator::ptx
