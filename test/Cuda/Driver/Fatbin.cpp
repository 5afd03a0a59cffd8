//===- Fatbin.cpp - PTX in a fatbinary image ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout is that of NVIDIA's fatbinary, as LLVM's and other readers define
// it. Constants are defined only if they are used here.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include "Ptx/Module.h"

#include <cstdint>
#include <cstring>

namespace emulator {

namespace {

struct Header {
  uint32_t magic;
  uint16_t version, size;
  uint64_t bytes; ///< after the header
};
constexpr uint32_t fatbinMagic = 0xba55ed50;

struct Entry {
  uint16_t kind, version;
  uint32_t headerSize;
  uint64_t bytes;
  uint32_t compressed, options;
  uint16_t minor, major;
  uint32_t architecture;
  uint32_t nameOffset, nameSize;
  uint64_t flags, reserved;
  uint64_t wholeSize; ///< before compression
};
constexpr uint16_t ptxKind = 1;
/// Flags of code for one architecture (sm_90a) or for one family (sm_100f).
constexpr uint64_t isExact = 1 << 20, isOfFamily = 1 << 21;

/// "GPU Compilation": a device runs machine code of its major version up to its
/// minor one, and PTX up to its version.
bool runs(const Entry &it, uint32_t device) {
  bool isOfMajor = it.kind != ptxKind || it.flags & isOfFamily;
  return it.flags & isExact
             ? it.architecture == device
             : it.architecture <= device &&
                   (!isOfMajor || it.architecture / 10 == device / 10);
}

} // namespace

std::optional<std::string_view> ptxOf(const void *image,
                                      uint32_t architecture) {
  // An image may also be null-terminated PTX text.
  const char *text = static_cast<const char *>(image);
  if (std::strncmp(text, "//", 2) == 0 || *text == '.')
    return text;
  Header header;
  std::memcpy(&header, image, sizeof(header));
  if (header.magic != fatbinMagic)
    throw ptx::Unknown("an image of another format");
  const char *at = text + header.size;
  const char *end = at + header.bytes;
  std::optional<std::string_view> found;
  uint32_t best = 0;
  while (at + sizeof(Entry) <= end) {
    Entry entry;
    std::memcpy(&entry, at, sizeof(entry));
    const char *content = at + entry.headerSize;
    at = content + entry.bytes;
    if (!runs(entry, architecture))
      continue;
    found = found.value_or("");
    if (entry.kind == ptxKind && !entry.wholeSize &&
        entry.architecture >= best) {
      found = {content, size_t(entry.bytes)};
      best = entry.architecture;
      found->remove_suffix(found->size() - found->find_last_not_of('\0') - 1);
    }
  }
  return found;
}

} // namespace emulator
