//===- Nvtx.h - ranges for NVIDIA's profilers -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names the actions of a step ("F3 of stage 1") where Nsight Systems shows what
// the host enqueues: when a graph is captured, and in every step without one.
// NVTX is optional: without its library, libnvtx3interop.so.1 of the CUDA
// toolkit, there are no ranges.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_NVTX_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_NVTX_H

#include <cstdint>

namespace stagewright::runtime::cuda {

/// Opens a range named after an action; closed by `endRange`.
void beginRange(char kind, int64_t stage, int64_t microbatch);
void endRange();

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_NVTX_H
