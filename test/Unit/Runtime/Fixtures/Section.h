//===- Section.h - a hand-written manifest section --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For artifacts whose rank programs are C++, this replaces pp-compile: it puts
// a string literal into the section `.stagewright`, with a hash computed at
// compile time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_RUNTIME_FIXTURES_SECTION_H
#define STAGEWRIGHT_UNIT_RUNTIME_FIXTURES_SECTION_H

#include "stagewright-rt/runtime.h"

#include <cstdint>

#ifndef REFUSED_VERSION
#define REFUSED_VERSION SW_ABI_VERSION
#endif
#ifndef REFUSED_HASH
#define REFUSED_HASH 0
#endif

template <unsigned long N> struct ManifestSection {
  char magic[4] = {'S', 'W', 'X', '1'};
  uint32_t version = REFUSED_VERSION;
  uint64_t length = N - 1;
  uint64_t hash = 0xcbf29ce484222325u + REFUSED_HASH;
  char text[N] = {};

  constexpr ManifestSection(const char (&json)[N]) {
    for (unsigned long i = 0; i < N; ++i)
      text[i] = json[i];
    for (unsigned long i = 0; i + 1 < N; ++i)
      hash = (hash ^ (unsigned char)json[i]) * 0x100000001b3u;
  }
};

#define STAGEWRIGHT_MANIFEST(json)                                             \
  extern "C" {                                                                 \
  __attribute__((visibility("default"))) const sw_api *stagewright_api;        \
  }                                                                            \
  __attribute__((section(".stagewright"), used,                                \
                 no_sanitize("address"))) static constexpr ManifestSection     \
  manifestSection(json)

#define ENTRY extern "C" __attribute__((visibility("default"))) void

#endif // STAGEWRIGHT_UNIT_RUNTIME_FIXTURES_SECTION_H
