//===- Injection.cpp - faults injected by tests ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults/Injection.h"

#include "Artifact/Manifest.h"
#include "Rank.h"
#include "stagewright/Runtime/Error.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unistd.h>

namespace stagewright::runtime {

std::unique_ptr<Injection> Injection::of(int64_t rank) {
  const char *text = std::getenv("STAGEWRIGHT_INJECT");
  if (!text || !*text)
    return nullptr;
  std::istringstream in(text);
  auto found = std::make_unique<Injection>();
  int64_t who = -1;
  std::array<char, 3> colons = {};
  in >> who >> colons[0] >> found->atStep >> colons[1] >> found->atAction >>
      colons[2] >> found->kind;
  const std::string &kind = found->kind;
  if (!in || colons != std::array{':', ':', ':'} ||
      (kind != "raise" && kind != "hang" && kind != "kill" && kind != "nan"))
    raise("STAGEWRIGHT_INJECT is '", text,
          "', expected RANK:STEP:ACTION:KIND with the kind raise, hang, kill "
          "or nan");
  return who == rank ? std::move(found) : nullptr;
}

void Injection::inject(const sw_rank &rank) const {
  if (kind == "raise")
    raise("an error was injected by STAGEWRIGHT_INJECT");
  if (kind == "kill")
    ::kill(getpid(), SIGKILL);
  while (kind == "hang" || kind == "kill")
    ::pause();
  for (size_t i = 0; i < rank.described->buffers.size(); ++i) {
    const Buffer &buffer = rank.described->buffers[i];
    if (buffer.kind == BufferKind::Parameter) {
      // All bits set are a NaN in every floating-point type.
      std::memset(rank.arena + rank.layout->buffers[i].offset, 0xff,
                  size_t(std::min<int64_t>(buffer.bytes, 8)));
      return;
    }
  }
  raise("STAGEWRIGHT_INJECT: the rank has no parameter to spoil");
}

} // namespace stagewright::runtime
