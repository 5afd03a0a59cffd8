//===- Nccl.cpp - NCCL's messages between processes -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include "Error.h"

namespace stagewright::runtime::cuda {

namespace {

constexpr LibraryName name = {
    "libnccl.so.2", "STAGEWRIGHT_NCCL_LIBRARY",
    "ranks in several processes send by it",
    "package libnccl2 of NVIDIA's Debian repository, and with "
    "nvidia-nccl-cu13 of PyPI"};

Nccl openNccl() {
  Library library(name);
  Nccl it;
#define STAGEWRIGHT_LOOK_UP(member, function, ...)                             \
  it.member.address = reinterpret_cast<int (*)(__VA_ARGS__)>(                  \
      library.symbol(it.member.symbol));
  STAGEWRIGHT_NCCL(STAGEWRIGHT_LOOK_UP)
#undef STAGEWRIGHT_LOOK_UP
  it.errorString = reinterpret_cast<const char *(*)(int)>(
      library.symbol("ncclGetErrorString"));
  it.lastError = reinterpret_cast<const char *(*)(Communicator)>(
      library.symbol("ncclGetLastError"));
  it.path = library.path();
  return it;
}

} // namespace

const Nccl &nccl() {
  static Nccl it = openNccl();
  return it;
}

void NcclErrors::fail(const char *symbol, int status) {
  const char *detail = nccl().lastError(nullptr);
  raise(symbol, ": ", nccl().errorString(status), " (", status, ")",
        detail && *detail ? ": " : "", detail ? detail : "");
}

} // namespace stagewright::runtime::cuda
