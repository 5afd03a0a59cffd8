//===- Shared.cpp - shared memory of a block ------------------------------===//
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
  known.assign(size_t(bytes), false);
  races.clear();
}

std::byte *Shared::access(int thread, uint64_t address, int bytes, int barriers,
                          bool writes) {
  if (address > content.size() || content.size() - address < size_t(bytes))
    throw Violation("uses " + std::to_string(bytes) +
                    " bytes of shared memory from " + std::to_string(address) +
                    " on, of which there are " +
                    std::to_string(content.size()));
  races.access(address, bytes, thread, barriers, writes);
  for (uint64_t byte = address; byte < address + unsigned(bytes); ++byte) {
    if (!writes && !known[byte])
      throw Violation("reads byte " + std::to_string(byte) +
                      " of shared memory, which no thread has written");
    known[byte] = known[byte] || writes;
  }
  return content.data() + address;
}

void Shared::forget(uint64_t address, int bytes) {
  for (uint64_t byte = address; byte < address + unsigned(bytes); ++byte)
    known[byte] = false;
}

} // namespace emulator::ptx
