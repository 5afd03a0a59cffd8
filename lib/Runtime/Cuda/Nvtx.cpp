//===- Nvtx.cpp - ranges for NVIDIA's profilers ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nvtx.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace stagewright::runtime::cuda {

namespace {

struct Nvtx {
  int (*push)(const char *) = nullptr; ///< nvtxRangePushA
  int (*pop)() = nullptr;              ///< nvtxRangePop
};

Nvtx openNvtx() {
  const char *chosen = std::getenv("STAGEWRIGHT_NVTX_LIBRARY");
  void *library = dlopen(chosen && *chosen ? chosen : "libnvtx3interop.so.1",
                         RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return {};
  Nvtx it;
  it.push =
      reinterpret_cast<int (*)(const char *)>(dlsym(library, "nvtxRangePushA"));
  it.pop = reinterpret_cast<int (*)()>(dlsym(library, "nvtxRangePop"));
  return it.push && it.pop ? it : Nvtx();
}

const Nvtx &nvtx() {
  static const Nvtx it = openNvtx();
  return it;
}

} // namespace

void beginRange(char kind, int64_t stage, int64_t microbatch) {
  if (!nvtx().push)
    return;
  char name[64];
  std::snprintf(name, sizeof(name), "%c%lld of stage %lld", kind,
                (long long)microbatch, (long long)stage);
  nvtx().push(name);
}

void endRange() {
  if (nvtx().pop)
    nvtx().pop();
}

} // namespace stagewright::runtime::cuda
