//===- PluginTest.cpp - opening the plug-in for cuDNN ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/GraphLibrary.h"
#include "stagewright-rt/runtime.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace stagewright::runtime::cuda;

namespace {

std::string errorOf(unsigned version, const char *library) {
  setenv("STAGEWRIGHT_CUDNN_LIBRARY", library, 1);
  void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(plugin, nullptr) << dlerror();
  auto open =
      reinterpret_cast<OpenGraphLibrary>(dlsym(plugin, openGraphLibraryName));
  char error[1024] = {};
  EXPECT_EQ(open(version, 90, false, error, sizeof(error)), nullptr);
  return error;
}

TEST(CudnnPlugin, IsOfTheRuntimesVersion) {
  EXPECT_EQ(errorOf(SW_ABI_VERSION + 1, ""),
            "its interface has version " + std::to_string(SW_ABI_VERSION) +
                ", that of the runtime is " +
                std::to_string(SW_ABI_VERSION + 1));
}

TEST(CudnnPlugin, NamesThePackageOfAMissingLibrary) {
  std::string error = errorOf(SW_ABI_VERSION, "/nowhere/libcudnn.so.9");
  EXPECT_EQ(error.find("cannot open '/nowhere/libcudnn.so.9', and attention "
                       "and convolutions on a GPU need it: "),
            0u)
      << error;
  EXPECT_NE(error.find("it comes with the package libcudnn9-cuda-13 of "
                       "NVIDIA's Debian repository, or with "
                       "nvidia-cudnn-cu13 of PyPI; if it is elsewhere, set "
                       "STAGEWRIGHT_CUDNN_LIBRARY to its path"),
            std::string::npos)
      << error;
}

TEST(CudnnPlugin, NamesAMissingFunction) {
  std::string error = errorOf(SW_ABI_VERSION, "libm.so.6");
  EXPECT_EQ(error.find("'libm.so.6' has no function 'cudnnCreate'"), 0u)
      << error;
}

TEST(CudnnPlugin, NeedsAGpuForItsHandle) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))
    GTEST_SKIP() << "there is a driver";
  std::string error = errorOf(SW_ABI_VERSION, CUDNN_LIBRARY);
  EXPECT_EQ(error.find("cudnnCreate: CUDNN_STATUS_"), 0u) << error;
}

} // namespace
