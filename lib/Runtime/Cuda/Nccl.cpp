//===- Nccl.cpp - NCCL's messages and sums --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime::cuda {

namespace {

constexpr LibraryName ncclName = {
    {"libnccl.so.2"},
    "STAGEWRIGHT_NCCL_LIBRARY",
    "messages between processes and sums over ranks need it",
    "the package libnccl2 of NVIDIA's Debian repository, or with "
    "nvidia-nccl-cu13 of PyPI"};

/// Throws if the library is older than the declarations in Nccl.h need.
void requireVersion(Nccl &it) {
  it.version.status(&it.release);
  if (it.release < ncclOldest)
    raise("'", it.path, "' is NCCL ", printNcclVersion(it.release),
          ", expected at least ", printNcclVersion(ncclOldest),
          "; a newer version comes with ", ncclName.package,
          "; if it is elsewhere, set ", ncclName.variable, " to its path");
}

Nccl openNccl() {
  Library library(ncclName);
  Nccl it;
  STAGEWRIGHT_NCCL(STAGEWRIGHT_LOOK_UP)
  library.find(it.errorString, "ncclGetErrorString");
  library.find(it.lastError, "ncclGetLastError");
  it.path = library.path();
  requireVersion(it);
  return it;
}

} // namespace

const char *const ncclPackage = ncclName.package;

std::string printNcclVersion(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

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
