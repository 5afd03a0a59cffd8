//===- Memory.cpp - memory behind device addresses ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <sys/mman.h>

namespace emulator {

std::string text(const char *format, ...) {
  char *made = nullptr;
  va_list arguments;
  va_start(arguments, format);
  int size = vasprintf(&made, format, arguments);
  va_end(arguments);
  std::string copy(made, size_t(size));
  std::free(made);
  return copy;
}

Memory::Memory() {
  // Halves the size if it is refused: sanitizers map shadow memory as well.
  for (; reserved > 1 << 20; reserved /= 2) {
    auto size = size_t(reserved);
    void *at = mmap(nullptr, 3 * size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      continue;
    base = reinterpret_cast<uint64_t>(at);
    content = {static_cast<std::byte *>(at) + size,
               static_cast<uint8_t *>(at) + 2 * size};
    mprotect(at, size, PROT_NONE);
    return;
  }
  std::perror("the emulator cannot reserve memory");
}

Memory::~Memory() {
  if (base)
    munmap(reinterpret_cast<void *>(base), 3 * size_t(reserved));
}

uint64_t Memory::allocate(int64_t bytes, int device) {
  // A gap after each allocation, so that no two are adjacent.
  int64_t size = (bytes + 511) / 512 * 512 + 512;
  if (bytes <= 0 || size > reserved - used || !base)
    return 0;
  uint64_t address = base + uint64_t(used);
  used += size;
  blocks[address] = {address + uint64_t(bytes), device};
  return address;
}

bool Memory::free(uint64_t address) {
  auto found = blocks.find(address);
  if (found == blocks.end())
    return false;
  Place freed = content + int64_t(address - base);
  // Frees the pages; their addresses are not used again.
  for (void *it :
       {static_cast<void *>(freed.bytes), static_cast<void *>(freed.marks)})
    madvise(it, found->second.end - address, MADV_DONTNEED);
  blocks.erase(found);
  return true;
}

const Memory::Block *Memory::blockOf(uint64_t address, int64_t bytes) const {
  uint64_t end = address + uint64_t(bytes);
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  const Block &block = std::prev(next)->second;
  if (bytes < 0 || end > block.end || end < address)
    return nullptr;
  return &block;
}

Place Memory::find(uint64_t address, int64_t bytes) const {
  return blockOf(address, bytes) ? content + int64_t(address - base) : Place();
}

Place Memory::at(uint64_t address, int64_t bytes, const char *what) const {
  Place found = find(address, bytes);
  REQUIRE(found.bytes, "%s %ld bytes at %#lx, which are not allocated", what,
          bytes, address);
  return found;
}

void Memory::scratch(uint64_t address, int64_t bytes) const {
  Place first = at(address, bytes, "uses a workspace of");
  int64_t size = std::min<int64_t>(bytes, 4096);
  first.fill(size, 0xcb, 0);
  (first + (bytes - size)).fill(size, 0xcb, 0);
}

void Memory::requireKnown(uint64_t address, int64_t bytes,
                          const char *what) const {
  const uint8_t *first = find(address, bytes).marks;
  const void *hole = std::memchr(first, 0, size_t(bytes));
  REQUIRE(!hole, "%s %ld bytes at %#lx, of which byte %ld was never written",
          what, bytes, address, static_cast<const uint8_t *>(hole) - first);
}

bool Memory::isWhole(uint64_t address, int64_t bytes) const {
  auto found = blocks.find(address);
  return found != blocks.end() &&
         found->second.end == address + uint64_t(bytes);
}

int Memory::deviceOf(uint64_t address) const {
  const Block *block = blockOf(address, 1);
  return block ? block->device : -1;
}

Memory &memory() {
  static Memory &it = *new Memory; // Never freed.
  return it;
}

} // namespace emulator
