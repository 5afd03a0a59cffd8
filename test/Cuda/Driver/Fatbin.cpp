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

#include "Fatbin.h"

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

} // namespace

std::string_view ptxOf(const void *image) {
  // An image may also be null-terminated PTX text.
  const char *text = static_cast<const char *>(image);
  if (std::strncmp(text, "//", 2) == 0 || *text == '.')
    return text;
  Header header;
  std::memcpy(&header, image, sizeof(header));
  if (header.magic != fatbinMagic)
    return {};
  const char *at = text + header.size;
  const char *end = at + header.bytes;
  std::string_view found;
  uint32_t best = 0;
  while (at + sizeof(Entry) <= end) {
    Entry entry;
    std::memcpy(&entry, at, sizeof(entry));
    const char *content = at + entry.headerSize;
    if (entry.kind == ptxKind && !entry.wholeSize &&
        entry.architecture >= best) {
      found = {content, size_t(entry.bytes)};
      best = entry.architecture;
      while (!found.empty() && found.back() == '\0')
        found.remove_suffix(1);
    }
    at = content + entry.bytes;
  }
  return found;
}

} // namespace emulator
