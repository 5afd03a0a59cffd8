//===- Graphs.cpp - plans of attention and convolutions -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"

#include "Cuda/Alternatives.h"
#include "OwnFolder.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Runtime/Error.h"

#include <cstdlib>
#include <cstring>

namespace stagewright::runtime::cuda {

namespace {

/// Loads the plug-in and opens it through its entry point `function`.
GraphLibrary *openLibrary(const char *function, int architecture,
                          bool anyOrder) {
  const char *chosen = std::getenv("STAGEWRIGHT_GRAPH_LIBRARY");
  std::string path =
      chosen && *chosen ? chosen : ownFolder() + "libstagewright-cudnn.so";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    raise("this runtime has no attention and no convolutions for a GPU: ",
          dlerror(),
          "; build it where the headers of CUDA 13 and cuDNN 9 (Debian "
          "packages cuda-toolkit-13-0 and cudnn9-cuda-13 of NVIDIA's "
          "repository) and nvidia-cudnn-frontend of PyPI are");
  auto open = reinterpret_cast<OpenGraphLibrary>(dlsym(library, function));
  if (!open)
    raise("'", path, "' does not export '", function, "'");
  char error[1024] = {};
  GraphLibrary *opened =
      open(SW_ABI_VERSION, architecture, anyOrder, error, sizeof(error));
  if (!opened)
    raise("'", path, "': ", error);
  return opened;
}

/// The key of a plan: the 64-bit words of its description, then its kind.
template <typename Desc>
std::vector<int64_t> keyOf(const Desc &desc, int64_t kind) {
  static_assert(sizeof(Desc) % sizeof(int64_t) == 0);
  std::vector<int64_t> key(sizeof(Desc) / sizeof(int64_t) + 1);
  std::memcpy(key.data(), &desc, sizeof(Desc));
  key.back() = kind;
  return key;
}
std::vector<int64_t> keyOf(const Attention &it) {
  return keyOf(it.desc, it.gradient ? 2 : it.stats ? 1 : 0);
}
std::vector<int64_t> keyOf(const Convolution &it) { return keyOf(it.desc, 3); }

void *operand(Address address) {
  if (address % 16 != 0)
    raise("an operand of an attention or a convolution lies at an address that "
          "is not a multiple of 16 bytes");
  return reinterpret_cast<void *>(address);
}

} // namespace

std::unique_ptr<GraphLibrary> describeGraphLibrary(int architecture,
                                                   bool anyOrder) {
  return std::unique_ptr<GraphLibrary>(
      openLibrary(describeGraphLibraryName, architecture, anyOrder));
}

GraphLibrary &Graphs::opened() {
  device.use();
  if (!library)
    library.reset(
        openLibrary(openGraphLibraryName, device.architecture(), anyOrder));
  return *library;
}

int64_t Graphs::prepare(const Attention &it) {
  auto [found, added] = plans.try_emplace(keyOf(it));
  bool otherwise = it.desc.otherwise;
  if (added && !(otherwise && alternativesOnly())) {
    GraphLibrary &asked = opened();
    try {
      found->second = asked.prepareAttention(it.desc, it.gradient, it.stats);
    } catch (const std::exception &) {
      if (!otherwise)
        throw;
    }
  }
  return found->second ? library->workspace(*found->second) : 0;
}

int64_t Graphs::prepare(const Convolution &it) {
  auto [found, added] = plans.try_emplace(keyOf(it));
  if (added)
    found->second = opened().prepareConvolution(it.desc);
  return library->workspace(*found->second);
}

bool Graphs::leaves(const Attention &it) const { return !plans.at(keyOf(it)); }

void Graphs::call(const Attention &it, DevicePointer workspace,
                  Stream stream) const {
  std::optional<size_t> plan = plans.at(keyOf(it));
  if (!plan)
    return;
  void *operands[] = {operand(it.q),   operand(it.k),     operand(it.v),
                      operand(it.o),   operand(it.stats), operand(it.dO),
                      operand(it.dQ),  operand(it.dK),    operand(it.dV),
                      operand(it.bias)};
  library->call(*plan, operands, reinterpret_cast<void *>(workspace), stream);
}

void Graphs::call(const Convolution &it, DevicePointer workspace,
                  Stream stream) const {
  void *operands[] = {operand(it.x), operand(it.w), operand(it.y)};
  library->call(*plans.at(keyOf(it)), operands,
                reinterpret_cast<void *>(workspace), stream);
}

} // namespace stagewright::runtime::cuda
