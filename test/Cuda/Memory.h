//===- Memory.h - what a device's addresses stand for -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses that are given out are of pages that nobody may touch, so a host
// that follows one crashes, as it does on a GPU. What they hold lies elsewhere,
// with one more byte for each that says whether it was ever written.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_MEMORY_H
#define STAGEWRIGHT_TEST_CUDA_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>

namespace emulator {

/// What a device forbids, or what has no defined result.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Memory {
public:
  Memory();
  ~Memory(); ///< Gives its addresses back, of which a sanitizer leaves few.
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// An address in multiples of 512 bytes, or 0 where no room is left. What
  /// lies there is not known.
  uint64_t allocate(int64_t bytes, int device);
  /// False where nothing was allocated there.
  bool free(uint64_t address);
  int64_t bytesFree() const { return reserved - used; }
  int64_t bytesInAll() const { return reserved; }

  /// What so many bytes hold, or null where they are not in one allocation.
  std::byte *find(uint64_t address, int64_t bytes);
  /// The same; throws where `find` gives null. `what` reads or writes it.
  std::byte *at(uint64_t address, int64_t bytes, const char *what);
  /// The bytes' marks: not 0 where written. Only of what `find` has found.
  uint8_t *marks(uint64_t address) const { return known + (address - base); }
  /// Throws where one of the bytes was never written.
  void requireKnown(uint64_t address, int64_t bytes, const char *what) const;
  /// Whether it is the whole of an allocation.
  bool isWhole(uint64_t address, int64_t bytes) const;
  /// The device of an address that was found; -1 for none.
  int deviceOf(uint64_t address) const;

private:
  struct Block {
    uint64_t end;
    int device;
  };
  const Block *blockOf(uint64_t address, int64_t bytes) const;

  int64_t reserved = int64_t(1) << 36; ///< less where so much is refused
  uint64_t base = 0;
  std::byte *content = nullptr;
  uint8_t *known = nullptr;
  int64_t used = 0;
  std::map<uint64_t, Block> blocks;
  mutable uint64_t lastBegin = 0; ///< of the block that was found last
  mutable const Block *last = nullptr;
};

/// The memory of all devices of the process.
Memory &memory();

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_MEMORY_H
