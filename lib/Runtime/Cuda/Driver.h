//===- Driver.h - CUDA's driver API -----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the driver API that the runtime calls, declared here so that a
// build needs no CUDA headers. Handles have the driver's type names, so they
// are the same types where cuda.h is included as well. If there is a toolkit, a
// test compares every line with cuda.h. Source: "CUDA Driver API", version
// 13.0. Every function here has been in the driver since 11.4, every value
// since 11.7.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_DRIVER_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_DRIVER_H

#include "Library.h"

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
// NOLINTEND(readability-identifier-naming)

namespace stagewright::runtime::cuda {

using DevicePointer = unsigned long long;
using Context = CUctx_st *;
using Module = CUmod_st *;
using KernelFunction = CUfunc_st *;
using Stream = CUstream_st *;
using EventHandle = CUevent_st *;
using Graph = CUgraph_st *;
using GraphExec = CUgraphExec_st *;
using GraphNode = CUgraphNode_st *;

/// Identifies a GPU, or a part of one, among all hosts.
struct Uuid {
  char bytes[16];
};

// Values of the driver's enumerations.
enum : int { statusNotReady = 600, statusPeerAlreadyEnabled = 704 };
enum : int {
  attributeMultiprocessors = 16,
  attributeMajor = 75,
  attributeMinor = 76
};
enum : int { functionMaxDynamicShared = 8 };
enum : unsigned { streamNonBlocking = 1 };
enum : unsigned { eventDefault = 0, eventDisableTiming = 2 };
enum : unsigned { eventRecordDefault = 0, eventRecordExternal = 1 };
enum : unsigned { hostAllocPortable = 1 };
enum : int { captureRelaxed = 2 };
enum : unsigned long long { graphUseNodePriority = 8 };

// NOLINTBEGIN(bugprone-macro-parentheses): types are among the arguments.
/// One line per function: the member, the symbol, the types of its parameters.
#define STAGEWRIGHT_CUDA_DRIVER(X)                                             \
  X(init, cuInit, unsigned)                                                    \
  X(driverVersion, cuDriverGetVersion, int *)                                  \
  X(deviceCount, cuDeviceGetCount, int *)                                      \
  X(deviceGet, cuDeviceGet, int *, int)                                        \
  X(deviceName, cuDeviceGetName, char *, int, int)                             \
  X(deviceUuid, cuDeviceGetUuid_v2, Uuid *, int)                               \
  X(deviceAttribute, cuDeviceGetAttribute, int *, int, int)                    \
  X(contextRetain, cuDevicePrimaryCtxRetain, Context *, int)                   \
  X(contextRelease, cuDevicePrimaryCtxRelease_v2, int)                         \
  X(contextSet, cuCtxSetCurrent, Context)                                      \
  X(canAccessPeer, cuDeviceCanAccessPeer, int *, int, int)                     \
  X(enablePeerAccess, cuCtxEnablePeerAccess, Context, unsigned)                \
  X(moduleLoad, cuModuleLoadData, Module *, const void *)                      \
  X(moduleUnload, cuModuleUnload, Module)                                      \
  X(moduleFunction, cuModuleGetFunction, KernelFunction *, Module,             \
    const char *)                                                              \
  X(functionSet, cuFuncSetAttribute, KernelFunction, int, int)                 \
  X(memoryAllocate, cuMemAlloc_v2, DevicePointer *, size_t)                    \
  X(memoryFree, cuMemFree_v2, DevicePointer)                                   \
  X(memoryInfo, cuMemGetInfo_v2, size_t *, size_t *)                           \
  X(hostAllocate, cuMemHostAlloc, void **, size_t, unsigned)                   \
  X(hostFree, cuMemFreeHost, void *)                                           \
  X(copyToDevice, cuMemcpyHtoDAsync_v2, DevicePointer, const void *, size_t,   \
    Stream)                                                                    \
  X(copyToHost, cuMemcpyDtoHAsync_v2, void *, DevicePointer, size_t, Stream)   \
  X(copyOnDevice, cuMemcpyDtoDAsync_v2, DevicePointer, DevicePointer, size_t,  \
    Stream)                                                                    \
  X(copyToPeer, cuMemcpyPeerAsync, DevicePointer, Context, DevicePointer,      \
    Context, size_t, Stream)                                                   \
  X(fill, cuMemsetD8Async, DevicePointer, unsigned char, size_t, Stream)       \
  X(priorityRange, cuCtxGetStreamPriorityRange, int *, int *)                  \
  X(streamCreate, cuStreamCreateWithPriority, Stream *, unsigned, int)         \
  X(streamDestroy, cuStreamDestroy_v2, Stream)                                 \
  X(streamWait, cuStreamWaitEvent, Stream, EventHandle, unsigned)              \
  X(streamSynchronize, cuStreamSynchronize, Stream)                            \
  X(eventCreate, cuEventCreate, EventHandle *, unsigned)                       \
  X(eventDestroy, cuEventDestroy_v2, EventHandle)                              \
  X(eventRecord, cuEventRecordWithFlags, EventHandle, Stream, unsigned)        \
  X(eventQuery, cuEventQuery, EventHandle)                                     \
  X(eventElapsed, cuEventElapsedTime, float *, EventHandle, EventHandle)       \
  X(launch, cuLaunchKernel, KernelFunction, unsigned, unsigned, unsigned,      \
    unsigned, unsigned, unsigned, unsigned, Stream, void **, void **)          \
  X(captureBegin, cuStreamBeginCapture_v2, Stream, int)                        \
  X(captureEnd, cuStreamEndCapture, Stream, Graph *)                           \
  X(graphNodes, cuGraphGetNodes, Graph, GraphNode *, size_t *)                 \
  X(graphInstantiate, cuGraphInstantiateWithFlags, GraphExec *, Graph,         \
    unsigned long long)                                                        \
  X(graphUpload, cuGraphUpload, GraphExec, Stream)                             \
  X(graphLaunch, cuGraphLaunch, GraphExec, Stream)                             \
  X(graphExecDestroy, cuGraphExecDestroy, GraphExec)                           \
  X(graphDestroy, cuGraphDestroy, Graph)                                       \
  X(errorName, cuGetErrorName, int, const char **)                             \
  X(errorString, cuGetErrorString, int, const char **)

struct DriverErrors {
  /// Throws "cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY 2)".
  [[noreturn]] static void fail(const char *symbol, int status);
};

struct Driver {
#define STAGEWRIGHT_MEMBER(member, function, ...)                              \
  Function<DriverErrors, __VA_ARGS__> member{#function};
  STAGEWRIGHT_CUDA_DRIVER(STAGEWRIGHT_MEMBER)
#undef STAGEWRIGHT_MEMBER

  /// The path with which libcuda was opened.
  std::string path;
};
// NOLINTEND(bugprone-macro-parentheses)

/// The driver, opened and initialised by the first call. Throws an `Error` if
/// there is no driver or no device.
const Driver &driver();

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_DRIVER_H
