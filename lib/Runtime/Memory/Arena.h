//===- Arena.h - the memory of one rank -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One anonymous mapping, zeroed and page-aligned. It is not a heap: the
// compiler has fixed the offset of every buffer (see Layout.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_ARENA_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_ARENA_H

#include <cstddef>
#include <cstdint>

namespace stagewright::runtime {

class Arena {
public:
  /// Throws an `Error` with the requested size if the system does not grant it.
  /// `populate` touches the pages, so that they are on the NUMA node of the
  /// thread that calls it.
  explicit Arena(int64_t bytes);
  ~Arena();
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&) = delete;

  std::byte *base() const { return memory; }
  int64_t size() const { return bytes; }
  void populate();
  /// Gives up the memory without unmapping it, because transfers may still
  /// write to it.
  void leave() { memory = nullptr, bytes = 0; }

private:
  std::byte *memory = nullptr;
  int64_t bytes = 0;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_ARENA_H
