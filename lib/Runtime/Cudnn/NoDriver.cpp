//===- NoDriver.cpp - a CUDA driver that runs nothing ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN compiles the kernels of some plans itself and loads them into the
// driver before a plan is finished. On machines without a GPU this shared
// object, which has the name that cuDNN opens, accepts them. Its other
// functions return the error of a stub driver. It runs no kernels.
//
//===----------------------------------------------------------------------===//

#define DRIVER extern "C" __attribute__((visibility("default"))) int

static int taken = 0;

/// The number of kernel libraries that were loaded.
DRIVER driverTaken() { return taken; }

DRIVER cuLibraryLoadData(void **library) {
  ++taken;
  return *library = &taken, 0;
}
DRIVER cuLibraryGetKernel(void **kernel) { return *kernel = &taken, 0; }
DRIVER cuLibraryUnload(void *) { return 0; }

// CUDA_ERROR_STUB_LIBRARY, as the toolkit's stub driver returns.
#define NONE(function)                                                         \
  DRIVER function() { return 34; }
NONE(cuCtxGetCurrent)
NONE(cuCtxGetLimit)
NONE(cuCtxPopCurrent)
NONE(cuCtxPushCurrent)
NONE(cuDeviceGet)
NONE(cuDeviceGetCount)
NONE(cuDriverGetVersion)
NONE(cuGetErrorName)
NONE(cuGetErrorString)
NONE(cuKernelGetAttribute)
NONE(cuKernelSetAttribute)
NONE(cuLaunchCooperativeKernel)
NONE(cuLaunchKernel)
NONE(cuLaunchKernelEx)
NONE(cuLibraryLoadFromFile)
NONE(cuLinkAddData)
NONE(cuLinkComplete)
NONE(cuLinkCreate)
NONE(cuLinkDestroy)
NONE(cuOccupancyMaxPotentialClusterSize)
NONE(cuStreamGetCtx)
