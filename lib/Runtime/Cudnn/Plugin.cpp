//===- Plugin.cpp - cuDNN as the runtime's graph library ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/GraphLibrary.h"
#include "Cuda/Library.h"
#include "DeviceDescription.h"
#include "OwnFolder.h"
#include "Plans.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Runtime/Error.h"

#include <cstdio>
#include <cudnn.h>
#include <vector>

namespace stagewright::runtime::cudnn {

namespace {

constexpr cuda::LibraryName known = {
    {"libcudnn.so.9"},
    "STAGEWRIGHT_CUDNN_LIBRARY",
    "attention and convolutions on a GPU need it",
    "the package libcudnn9-cuda-13 of NVIDIA's Debian repository, or with "
    "nvidia-cudnn-cu13 of PyPI"};

/// The functions called in this file; the headers used by Plans.cpp look up
/// their own.
struct Functions {
  cuda::Library library{known};
#define STAGEWRIGHT_CUDNN(member, function)                                    \
  decltype(&::function) member =                                               \
      reinterpret_cast<decltype(&::function)>(library.symbol(#function));
  STAGEWRIGHT_CUDNN(create, cudnnCreate)
  STAGEWRIGHT_CUDNN(destroy, cudnnDestroy)
  STAGEWRIGHT_CUDNN(setStream, cudnnSetStream)
  STAGEWRIGHT_CUDNN(errorString, cudnnGetErrorString)
#undef STAGEWRIGHT_CUDNN
};

const Functions &functions() {
  static const Functions it;
  return it;
}

void check(const char *what, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS)
    raise(what, ": ", functions().errorString(status), " (", status, ")");
}

class Cudnn final : public cuda::GraphLibrary {
public:
  /// With `isThere`, plans are for the current device. Without, they are for a
  /// description of a device of `architecture`, and cannot be run.
  Cudnn(int architecture, bool anyOrder, bool isThere) {
    useLibrary(functions().library.raw());
    constexpr int64_t minVersion = 90000;
    if (libraryVersion() < minVersion)
      raise("cuDNN is version ", libraryVersion(), ", expected at least ",
            minVersion, "; a newer version comes with ", known.package);
    if (isThere)
      check("cudnnCreate", functions().create(&target.handle));
    else
      target.description = describeDevice(architecture);
    target.architecture = architecture;
    target.anyOrder = anyOrder;
  }
  ~Cudnn() override {
    plans.clear();
    if (target.handle)
      functions().destroy(target.handle);
  }

  size_t prepareAttention(const sw_attention_desc &desc, bool gradient,
                          bool stats) override {
    plans.push_back(Plan::attention(target, desc, gradient, stats));
    return plans.size() - 1;
  }
  size_t prepareConvolution(const sw_convolve_desc &desc) override {
    plans.push_back(Plan::convolution(target, desc));
    return plans.size() - 1;
  }
  int64_t workspace(size_t plan) const override {
    return plans[plan].workspace();
  }
  std::string name(size_t plan) const override { return plans[plan].name(); }
  void call(size_t plan, void *const *operands, void *workspace,
            void *stream) override {
    check("cudnnSetStream",
          functions().setStream(target.handle,
                                static_cast<cudaStream_t>(stream)));
    plans[plan].run(target.handle, operands, workspace);
  }

private:
  Target target;
  std::vector<Plan> plans;
};

} // namespace

} // namespace stagewright::runtime::cudnn

using namespace stagewright::runtime;

static cuda::GraphLibrary *open(unsigned version, int architecture,
                                bool anyOrder, bool isThere, char *error,
                                size_t room) {
  try {
    if (version != SW_ABI_VERSION)
      raise("its interface has version ", SW_ABI_VERSION,
            ", that of the runtime is ", version);
    return new cudnn::Cudnn(architecture, anyOrder, isThere);
  } catch (const std::exception &problem) {
    std::snprintf(error, room, "%s", problem.what());
  }
  return nullptr;
}

extern "C" SW_EXPORT cuda::GraphLibrary *
stagewright_open_graph_library(unsigned version, int architecture,
                               bool anyOrder, char *error, size_t room) {
  return open(version, architecture, anyOrder, true, error, room);
}

extern "C" SW_EXPORT cuda::GraphLibrary *
stagewright_describe_graph_library(unsigned version, int architecture,
                                   bool anyOrder, char *error, size_t room) {
  // Load the stub of the driver before cuDNN searches for the real one.
  std::string path = ownFolder() + "libstagewright-no-driver.so";
  if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    std::snprintf(error, room, "%s", dlerror());
    return nullptr;
  }
  return open(version, architecture, anyOrder, false, error, room);
}
