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
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

namespace emulator {

/// What printf would print.
std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// An operation that is an error on a device or has an undefined result.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws `Violation` with this text, as for printf, unless the condition
/// holds.
#define REQUIRE(condition, ...)                                                \
  ((condition) ? void() : throw Violation(text(__VA_ARGS__)))

/// Bytes, each with a mark: 0 if nothing ever wrote it.
struct Place {
  std::byte *bytes = nullptr;
  uint8_t *marks = nullptr;

  Place operator+(int64_t offset) const {
    return {bytes + offset, marks + offset};
  }
  void fill(int64_t size, int byte, uint8_t mark) const {
    std::memset(bytes, byte, size_t(size));
    std::memset(marks, mark, size_t(size));
  }
  /// Bytes that were never written remain marked as such.
  void copy(const Place &from, int64_t size) const {
    std::memmove(bytes, from.bytes, size_t(size));
    std::memmove(marks, from.marks, size_t(size));
  }
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
  Place find(uint64_t address, int64_t bytes) const;
  /// The same, but throws `Violation` for null; `what` is a verb for the error.
  Place at(uint64_t address, int64_t bytes, const char *what) const;
  /// The same for a workspace: both of its ends lose their content, as a
  /// library may write anywhere in it.
  void scratch(uint64_t address, int64_t bytes) const;
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
  Place content; ///< of all addresses from `base` on
  int64_t used = 0;
  std::map<uint64_t, Block> blocks;
};

/// The memory of all devices of the process.
Memory &memory();

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_MEMORY_H
