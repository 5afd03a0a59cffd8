//===- Memory.h - memory behind device addresses ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device addresses are in protected pages, so the host crashes if it
// dereferences one, as with a GPU. The bytes behind them are stored elsewhere,
// each with a mark: whether it was ever written.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_MEMORY_H
#define STAGEWRIGHT_TEST_CUDA_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>

namespace emulator {

/// An operation that is an error on a device or has an undefined result.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Memory {
public:
  Memory();
  ~Memory(); ///< Unmaps the addresses, which are scarce under a sanitizer.
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// An address that is a multiple of 512 bytes, or 0 if no memory is left. The
  /// bytes are marked as not written.
  uint64_t allocate(int64_t bytes, int device);
  /// False if no allocation begins at the address.
  bool free(uint64_t address);
  int64_t bytesFree() const { return reserved - used; }
  int64_t bytesInAll() const { return reserved; }

  /// The content of these bytes, or null if they are not in one allocation.
  std::byte *find(uint64_t address, int64_t bytes);
  /// The same, but throws `Violation` for null; `what` is a verb for the error.
  std::byte *at(uint64_t address, int64_t bytes, const char *what);
  /// The same for a workspace: both of its ends lose their content, as a
  /// library may write anywhere in it.
  void scratch(uint64_t address, int64_t bytes);
  /// The marks of bytes that `find` has found: 0 if never written.
  uint8_t *marks(uint64_t address) const { return known + (address - base); }
  /// Throws `Violation` if one of the bytes was never written.
  void requireKnown(uint64_t address, int64_t bytes, const char *what) const;
  /// Whether these bytes are a whole allocation.
  bool isWhole(uint64_t address, int64_t bytes) const;
  /// The device of an address, or -1 if it is in no allocation.
  int deviceOf(uint64_t address) const;

private:
  struct Block {
    uint64_t end;
    int device;
  };
  const Block *blockOf(uint64_t address, int64_t bytes) const;

  int64_t reserved = int64_t(1) << 36; ///< bytes; less if mmap refuses
  uint64_t base = 0;
  std::byte *content = nullptr;
  uint8_t *known = nullptr;
  int64_t used = 0;
  std::map<uint64_t, Block> blocks;
  mutable uint64_t lastBegin = 0; ///< address of the block found last
  mutable const Block *last = nullptr;
};

/// The memory of all devices of the process.
Memory &memory();

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_MEMORY_H
