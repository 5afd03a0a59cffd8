//===- LibraryPlans.h - plans without a device ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a device's library has a plan for an attention or a convolution is
// known when a step is made there. The library itself says so before, for
// devices that are described only.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARYPLANS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARYPLANS_H

#include "Program.h"

namespace stagewright::runtime::cuda {

struct LibraryPlans {
  /// A line for each architecture and different call: what the library calls
  /// its plan and the bytes of its workspace, or why it has none and what is
  /// done then.
  std::string text;
  int64_t missing = 0; ///< calls without a plan, and without kernels behind
};

/// Asks for the plans of a step with so many microbatches, 0: as compiled, on
/// `architectures`, as "sm_80,sm_90". Throws an `Error` if the target is no
/// device, or the library is not there or describes no such device.
LibraryPlans libraryPlans(const Artifact &artifact, int64_t microbatches,
                          const std::string &architectures);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARYPLANS_H
