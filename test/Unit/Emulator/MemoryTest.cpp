//===- MemoryTest.cpp - memory and copies of the emulator's driver --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected statuses are those of the "CUDA Driver API" for the same calls.
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "Devices.h"

using namespace stagewright::runtime::cuda;

namespace {

TEST(EmulatedMemory, RefusesDevicesThatDoNotExist) {
  Bench bench;
  int device;
  EXPECT_EQ(driver().deviceGet.status(&device, 1), 0);
  EXPECT_EQ(driver().deviceGet.status(&device, 2), invalidDevice);
  EXPECT_EQ(driver().init.status(0u), 0);
  Setting none("DEVICES", "0");
  EXPECT_EQ(driver().init.status(0u), noDevice);
}

TEST(EmulatedMemory, RefusesWhatItCannotAllocate) {
  Bench bench;
  DevicePointer address = 0;
  size_t left, whole;
  driver().memoryInfo(&left, &whole);
  EXPECT_EQ(driver().memoryAllocate.status(&address, whole), outOfMemory);
  EXPECT_EQ(driver().memoryAllocate.status(&address, size_t(0)), invalidValue);
  if (stagewright::testing::kPart > 1)
    GTEST_SKIP() << "a sanitizer does not return from such a malloc";
  void *pinned = nullptr;
  EXPECT_EQ(driver().hostAllocate.status(&pinned, size_t(1) << 62,
                                         unsigned(hostAllocPortable)),
            outOfMemory);
}

TEST(EmulatedMemory, RefusesMemoryThatItHasNotGiven) {
  Bench bench;
  DevicePointer array = bench.array(64);
  EXPECT_EQ(driver().memoryFree.status(array + 512), invalidValue);
  int word;
  EXPECT_EQ(driver().hostFree.status(&word), invalidValue);
}

TEST(EmulatedMemory, RefusesCopiesWhoseDevicesAreWrong) {
  Bench bench;
  DevicePointer here = bench.written(64);
  Stream stream = bench.stream();
  Context one = bench.use(1);
  DevicePointer there = bench.array(64);
  Context zero = bench.use(0);
  EXPECT_EQ(driver().copyToPeer.status(there, zero, here, zero, 64, stream),
            invalidValue);
  EXPECT_EQ(driver().copyToPeer.status(there, one, here, one, 64, stream),
            invalidValue);
  EXPECT_EQ(driver().copyToPeer.status(there, one, here, zero, 64, stream), 0);
  EXPECT_EQ(driver().streamSynchronize.status(stream), 0);
}

/// Memory of the other device.
DevicePointer arrayThere(Bench &bench) {
  bench.use(1);
  DevicePointer array = bench.array(64);
  bench.use(0);
  return array;
}

using EmulatedMemoryDeathTest = testing::Test;

TEST(EmulatedMemoryDeathTest, CopiesOfWhatIsNotAllocatedFail) {
  expectFailure(
      [](Bench &bench, Stream stream) {
        driver().fill(bench.array(64), 0, 65, stream);
      },
      "719: fills 65 bytes at 0x.*, which are not allocated");
  expectFailure(
      [](Bench &bench, Stream stream) {
        DevicePointer freed = bench.array(64);
        driver().memoryFree(freed);
        driver().fill(freed, 0, 64, stream);
      },
      "719: fills 64 bytes");
  expectFailure(
      [](Bench &bench, Stream stream) {
        driver().copyOnDevice(bench.array(64), bench.array(32) + 1, 32, stream);
      },
      "719: copies 32 bytes at .*, which are not allocated");
  expectFailure(
      [](Bench &bench, Stream stream) {
        driver().copyOnDevice(bench.array(31), bench.array(32), 32, stream);
      },
      "719: copies to 32 bytes at .*, which are not allocated");
  expectFailure(
      [](Bench &bench, Stream stream) {
        char bytes[64] = {};
        driver().copyToDevice(bench.array(63), static_cast<void *>(bytes), 64,
                              stream);
      },
      "719: copies 64 bytes at .*, which are not allocated");
  expectFailure(
      [](Bench &bench, Stream stream) {
        DevicePointer there = arrayThere(bench), here = bench.array(63);
        Context one = bench.use(1), zero = bench.use(0);
        driver().copyToPeer(there, one, here, zero, 64, stream);
      },
      "719: copies 64 bytes at .*, which are not allocated");
}

/// Copies an array of which `bytes` bytes are written from `first` on.
void expectCopied(size_t size, size_t first, size_t bytes, const char *why) {
  expectFailure(
      [=](Bench &bench, Stream stream) {
        bench.kernel("");
        std::vector<char> content(size);
        DevicePointer array = bench.array(size);
        driver().copyToDevice(array + first,
                              static_cast<const void *>(content.data()), bytes,
                              stream);
        driver().copyToHost(static_cast<void *>(content.data()), array, size,
                            stream);
        if (!*why)
          std::exit(driver().streamSynchronize.status(stream));
      },
      why);
}

TEST(EmulatedMemoryDeathTest, CopiesOfWhatNothingWroteToTheHostFail) {
  expectCopied(8, 0, 0, "719: copies to the host 1 bytes .*never written");
  expectCopied(96, 0, 64, "719: copies to the host 1 bytes .*never written");
  expectCopied(64, 8, 56, "719: copies to the host 64 bytes .*byte 0 was");
  expectCopied(64, 0, 4, ""); // Padded to 64 bytes.
}

TEST(EmulatedMemoryDeathTest, CopiesNeedAccessToBothArrays) {
  for (bool writes : {false, true})
    expectFailure(
        [&](Bench &bench, Stream stream) {
          DevicePointer here = bench.array(64), there = arrayThere(bench);
          driver().copyOnDevice(writes ? there : here, writes ? here : there,
                                64, stream);
        },
        "719: device 0 uses memory of device 1, which it has no access to");
}

TEST(EmulatedMemory, CopiesToAPeerWithAccess) {
  Bench bench;
  Stream stream = bench.stream();
  DevicePointer there = arrayThere(bench);
  Context one = bench.use(1);
  bench.use(0);
  driver().enablePeerAccess(one, 0u);
  driver().copyOnDevice(there, bench.written(64), 64, stream);
  EXPECT_EQ(driver().streamSynchronize.status(stream), 0);
}

} // namespace
