//===- DeviceErrorsTest.cpp - errors of steps on a device -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/EmulatedHost.h"

#include <gtest/gtest.h>

namespace {

struct FaultCase {
  const char *fault, *text;
};
class DeviceFaults : public testing::TestWithParam<FaultCase> {};

TEST_P(DeviceFaults, AreFoundBeforeAnythingRuns) {
  Emulator emulator;
  Variable fault("DEVICE_FAULT", GetParam().fault);
  EXPECT_EQ(deviceError(), GetParam().text);
  for (const Call &call : emulator.calls())
    EXPECT_NE(call.word, "alloc");
}

INSTANTIATE_TEST_SUITE_P(
    Device, DeviceFaults,
    testing::Values(
        FaultCase{"gemm", "rank 0: the program calls 'gemm', but the "
                          "artifact's target is a device"},
        FaultCase{"kernel", "rank 0: kernel 7 does not exist; there are 2"},
        FaultCase{"workspace", "rank 0: node 'w.F' uses 4096 bytes of "
                               "workspace, but there are 128"},
        FaultCase{"leak", "rank 0: stash 'stash.x' slot 0 is taken for "
                          "microbatch 2 while microbatch 0 holds it"},
        FaultCase{"too-far", "rank 0: 128 bytes of 'stash.x' of rank 0 are "
                             "used, but there are 64"},
        FaultCase{"after-send", "rank 0: an address of channel 'y' is used, "
                                "which the rank does not hold then"},
        FaultCase{"early-release",
                  "rank 0: an address of 'stash.x' of rank 0 is used, which "
                  "the rank does not hold then"},
        FaultCase{"attend-far", "rank 0: 112 bytes of 'dw' of rank 0 are used, "
                                "but there are 64"},
        FaultCase{"heads", "an attention has 1 heads, expected a multiple of "
                           "its 3 heads of keys"},
        FaultCase{"convolve-far", "rank 0: 76 bytes of 'dw' of rank 0 are "
                                  "used, but there are 64"},
        FaultCase{"result", "a convolution of an image of 4 with a window of "
                            "2, stride 1, dilation 1, 0 before and 0 after "
                            "has no result of 4"},
        FaultCase{"host-address",
                  "rank 0: kernel 'step.scale' is given an address of the "
                  "host's memory as argument 1"},
        FaultCase{"circle",
                  "the ranks wait for each other; rank 0 waits for microbatch "
                  "0 of channel 'dy' from rank 1; rank 1 waits for microbatch "
                  "0 of channel 'y' from rank 0"},
        FaultCase{"early-end",
                  "the ranks wait for each other; rank 0 waits for microbatch "
                  "1 of channel 'dy' from rank 1, which has ended"}));

TEST(DeviceErrors, MissingLibrariesNameTheirPackage) {
  // In a process of its own, because an opened library stays loaded.
  EXPECT_EXIT(
      {
        Variable none("STAGEWRIGHT_CUDA_LIBRARY", "/nowhere/libcuda.so.1");
        std::fputs(deviceError().c_str(), stderr);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "cannot open '/nowhere/libcuda.so.1', and an artifact for a GPU needs it "
      "to run: .*; it comes with NVIDIA's driver .Debian package libcuda1.; "
      "if it is elsewhere, set STAGEWRIGHT_CUDA_LIBRARY to its path");
  EXPECT_EXIT(
      {
        Emulator emulator;
        Variable none("STAGEWRIGHT_CUBLASLT_LIBRARY", "/nowhere/lt.so");
        std::fputs(deviceError().c_str(), stderr);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "cannot open '/nowhere/lt.so', and contractions on a GPU need it: .*; it "
      "comes with the package libcublas-13-0 or libcublas-12-9 of NVIDIA's "
      "Debian repository, or with nvidia-cublas or nvidia-cublas-cu12 of PyPI");
}

TEST(DeviceErrors, AMissingFunctionIsNamed) {
  EXPECT_EXIT(
      {
        Variable other("STAGEWRIGHT_CUDA_LIBRARY", "libm.so.6");
        std::fputs(deviceError().c_str(), stderr);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "'libm.so.6' has no function 'cuInit', and an artifact for a GPU needs "
      "it to run; a newer version comes with NVIDIA's driver");
}

TEST(DeviceErrors, NoDeviceIsAnError) {
  EXPECT_EXIT(
      {
        Emulator emulator;
        Variable none("STAGEWRIGHT_EMULATOR_DEVICES", "0");
        std::fputs(deviceError().c_str(), stderr);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "cuInit: asked to fail .EMULATOR_ERROR_100 100.");
}

TEST(DeviceErrors, FailuresOfTheDriverAreTold) {
  Emulator emulator;
  deviceHost(); // Opens the driver.
  auto errorOf = [](const char *failure) {
    Variable fail("STAGEWRIGHT_EMULATOR_FAIL", failure);
    return deviceError();
  };
  EXPECT_EQ(errorOf("cuModuleLoadData=209"),
            "the artifact's device code (sm_90a; PTX of sm_80, sm_90) does not "
            "load on GPU 0 (Emulator, sm_90, driver of CUDA 13.0): "
            "cuModuleLoadData: asked to fail (EMULATOR_ERROR_209 209); compile "
            "with --target=cuda:sm_90, or for older drivers with --ptx=sm_90, "
            "or install a newer driver");
  EXPECT_EQ(errorOf("cuModuleGetFunction=500"),
            "malformed artifact: its device code has no kernel 'step.loss' "
            "(status 500)");
  EXPECT_NE(errorOf("cuMemAlloc_v2=2")
                .find("are free; run fewer microbatches or more stages"),
            std::string::npos);
  EXPECT_EQ(errorOf("cublasLtMatmulAlgoGetHeuristic=15"),
            "cuBLASLt has no algorithm for a contraction of 4 x 4 x 4 in 1 "
            "batches of f32 and f32 to f32 with epilogue 0");
}

TEST(DeviceErrors, ALibraryThatIsNewerThanTheDriverIsNamed) {
  Emulator emulator;
  Variable fail("STAGEWRIGHT_EMULATOR_FAIL", "cublasLtCreate=1");
  EXPECT_EQ(deviceError(), "cublasLtCreate: asked to fail (1)");
  Variable old("STAGEWRIGHT_EMULATOR_DRIVER", "12040");
  EXPECT_EQ(deviceError(),
            "'" EMULATOR_LIBRARY
            "' is cuBLASLt 13, which the driver of CUDA 12.4 "
            "does not run: asked to fail (1); install a newer driver, or an "
            "older cuBLASLt whose path STAGEWRIGHT_CUBLASLT_LIBRARY gives");
}

TEST(DeviceErrors, KernelsStandInWhereALibraryHasNoAlgorithm) {
  Emulator emulator;
  /// The calls that the step enqueues for rank 0 before its first action:
  /// epilogues of products, "attention", and 'k' for a kernel.
  auto calls = [&](const char *failure, const char *fault = "alternatives") {
    Variable graphs("DEVICE_FAULT", fault);
    Variable fail("STAGEWRIGHT_EMULATOR_FAIL", failure);
    sw_options options = Host::defaults();
    options.direct = 1;
    Host host = deviceHost(options);
    emulator.calls();
    EXPECT_EQ(host.runError(), "");
    std::string text;
    for (const Call &call : emulator.calls()) {
      if (call.word == "copy")
        break;
      if (call.word == "matmul")
        text += call.values.at("epilogue") + " ";
      else if (call.word == "graph")
        text += "attention ";
      else if (call.word == "launch")
        text += "k ";
    }
    return text;
  };
  EXPECT_EQ(calls("nothing=1"), "160 1 attention ");
  EXPECT_EQ(calls("epilogue=1"), "1 k 1 attention ");
  EXPECT_EQ(calls("attention=1"), "160 1 k k ");
  // The library needs an auxiliary row stride that is a multiple of 8.
  EXPECT_EQ(calls("nothing=1", "aux-row"), "1 k 1 attention ");
}

TEST(DeviceErrors, KernelsStandInOnlyForCallsThatSaySo) {
  Emulator emulator;
  Variable graphs("DEVICE_FAULT", "unannounced");
  EXPECT_EQ(deviceError(),
            "rank 0: kernel 1 is a fallback for a call of a library, but the "
            "call before it does not allow a fallback");
}

TEST(DeviceErrors, AMissingLibraryOfGraphsNamesItsPackages) {
  Emulator emulator;
  Variable graphs("DEVICE_FAULT", "graphs");
  {
    Variable fail("STAGEWRIGHT_EMULATOR_FAIL",
                  "stagewright_open_graph_library=7");
    EXPECT_EQ(deviceError(), "'" EMULATOR_LIBRARY "': asked to fail (7)");
  }
  setenv("STAGEWRIGHT_GRAPH_LIBRARY", "libm.so.6", 1);
  EXPECT_EQ(deviceError(), "'libm.so.6' does not export "
                           "'stagewright_open_graph_library'");
  setenv("STAGEWRIGHT_GRAPH_LIBRARY", "/nowhere/cudnn.so", 1);
  std::string error = deviceError();
  EXPECT_EQ(error.find("this runtime has no attention and no convolutions for "
                       "a GPU: /nowhere/cudnn.so: cannot open"),
            0u)
      << error;
  EXPECT_NE(error.find("nvidia-cudnn-frontend of PyPI"), std::string::npos);
}

TEST(DeviceErrors, AFailureInACaptureLeavesTheStepUsable) {
  Emulator emulator;
  Host host = deviceHost();
  {
    Variable fail("STAGEWRIGHT_EMULATOR_FAIL", "cuLaunchKernel=1");
    EXPECT_EQ(host.runError(),
              "cuLaunchKernel: asked to fail (EMULATOR_ERROR_1 1)");
  }
  EXPECT_EQ(host.runError(), "");
}

TEST(DeviceErrors, ADeviceThatHangsEndsTheStepAtItsDeadline) {
  Emulator emulator;
  sw_options options = Host::defaults();
  options.deadline = 0.05;
  Host host = deviceHost(options);
  host.run();
  {
    Variable hang("STAGEWRIGHT_EMULATOR_HANG", "1");
    EXPECT_EQ(host.runError(), "the step did not end on its device within 0.05 "
                               "seconds; give a longer deadline");
  }
  EXPECT_EQ(host.runError(),
            "an earlier step has not ended on its device; restart the program");
}

TEST(DeviceErrors, ListsOfDevicesAreChecked) {
  Emulator emulator;
  auto errorOf = [](const char *list) {
    sw_options options = Host::defaults();
    options.devices = list;
    return deviceError(options);
  };
  EXPECT_EQ(errorOf("0,x"), "the list of devices is '0,x', expected numbers "
                            "with commas, as in 0,0,1,1");
  EXPECT_EQ(errorOf("0"), "the list of devices '0' has 1 entries, expected "
                          "one for each of 2 ranks");
  EXPECT_EQ(errorOf("0,9"), "there is no GPU 9; there are 1");
}

} // namespace
