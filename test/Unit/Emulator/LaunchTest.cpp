//===- LaunchTest.cpp - launches of the emulator's driver -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits are those of the "CUDA Programming Guide", "Compute Capabilities".
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

using namespace stagewright::runtime::cuda;

namespace {

/// A launch of a kernel, its dimensions, memory and arguments.
struct Shape {
  unsigned x = 1, y = 1, z = 1;               ///< blocks
  unsigned threads = 1, rows = 1, layers = 1; ///< of a block
  unsigned shared = 0;
  size_t arguments = 2;
  int most = 0; ///< if not 0: max dynamic shared memory to set, in bytes
  std::string ptx = kernelOf("");
};

int launch(const Shape &it) {
  Bench bench;
  KernelFunction kernel = bench.kernelIn(it.ptx);
  if (it.most)
    if (int status = driver().functionSet.status(
            kernel, int(functionMaxDynamicShared), it.most))
      return status;
  DevicePointer arrays[2] = {bench.array(1024), bench.array(1024)};
  void *arguments[3] = {&arrays[0], &arrays[1], nullptr};
  arguments[it.arguments] = nullptr;
  return driver().launch.status(kernel, it.x, it.y, it.z, it.threads, it.rows,
                                it.layers, it.shared, bench.stream(),
                                static_cast<void **>(arguments),
                                static_cast<void **>(nullptr));
}

TEST(EmulatedLaunch, RefusesDimensionsBeyondItsLimits) {
  EXPECT_EQ(launch({}), 0);
  EXPECT_EQ(launch({.y = 65535}), 0);
  EXPECT_EQ(launch({.z = 65535}), 0);
  EXPECT_EQ(launch({.threads = 1024}), 0);
  EXPECT_EQ(launch({.threads = 16, .rows = 1, .layers = 64}), 0);
  for (const Shape &it :
       {Shape{.x = 0}, Shape{.y = 0}, Shape{.z = 0}, Shape{.x = 0x80000000},
        Shape{.y = 65536}, Shape{.z = 65536}, Shape{.threads = 0},
        Shape{.rows = 0}, Shape{.layers = 0}, Shape{.threads = 33, .rows = 32},
        Shape{.layers = 65}, Shape{.arguments = 1}})
    EXPECT_EQ(launch(it), invalidValue)
        << it.x << " " << it.y << " " << it.z << " " << it.threads << " "
        << it.rows << " " << it.layers;
}

/// A kernel that states a max number of threads.
std::string limited(const std::string &threads) {
  std::string text = kernelOf("");
  return text.replace(text.find("1024, 1"), 4, threads);
}

TEST(EmulatedLaunch, RefusesLimitsThatAKernelStates) {
  // A kernel may state a max number above the device's limit, which holds all
  // the same.
  Shape shape = {.threads = 1025, .ptx = limited("2048")};
  EXPECT_EQ(launch(shape), invalidValue);
  shape = {.threads = 32, .ptx = limited("32")};
  EXPECT_EQ(launch(shape), 0);
  shape.threads = 33;
  EXPECT_EQ(launch(shape), invalidValue);
}

TEST(EmulatedLaunch, RefusesMoreSharedMemoryThanABlockHas) {
  EXPECT_EQ(launch({.shared = 48 << 10}), 0);
  EXPECT_EQ(launch({.shared = (48 << 10) + 16}), invalidValue);
  EXPECT_EQ(launch({.shared = 64 << 10, .most = 64 << 10}), 0);
  Shape declares = {.shared = 200 << 10,
                    .most = 200 << 10,
                    .ptx = kernelOf(".shared .align 16 .b8 tile[32768];")};
  EXPECT_EQ(launch(declares), invalidValue);
  declares.shared = 190 << 10;
  EXPECT_EQ(launch(declares), 0);
  for (auto [architecture, most] : {std::pair("80", 163),
                                    {"86", 99},
                                    {"87", 163},
                                    {"89", 99},
                                    {"90", 227},
                                    {"100", 227},
                                    {"120", 99}}) {
    Setting chosen("ARCHITECTURE", architecture);
    EXPECT_EQ(launch({.most = most << 10}), 0) << architecture;
    EXPECT_EQ(launch({.most = (most << 10) + 1}), invalidValue) << architecture;
  }
}

TEST(EmulatedLaunch, RefusesOtherAttributesOfFunctions) {
  Bench bench;
  EXPECT_EQ(driver().functionSet.status(bench.kernel(""), 9, 100),
            invalidValue);
}

using EmulatedLaunchDeathTest = testing::Test;

TEST(EmulatedLaunchDeathTest, ErrorsNameTheKernel) {
  expectFailure(
      [](Bench &bench, Stream stream) {
        bench.launch("ld.global.b64 %rd1, [%in];\n"
                     "ld.global.b64 %rd2, [%rd1];",
                     bench.array(64), bench.array(64), stream);
      },
      "719: kernel 'k', block 0,0,0, thread 0 uses an address that was never "
      "written: line 22 'ld.global.b64 %rd1, .%in.' has loaded it from 0x");
}

} // namespace
