//===- LibraryPlans.h - library plans without a device ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether the library of a device has plans for the attentions and convolutions
// of a step is only known when the step is made there. libraryPlans() asks the
// library earlier and on any machine: it passes a description of the device.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARYPLANS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARYPLANS_H

#include "Program.h"

namespace stagewright::runtime::cuda {

struct LibraryPlans {
  /// A line for each architecture and distinct call: the library's name of its
  /// plan and the bytes of its workspace, or why it has none and what is done
  /// instead.
  std::string text;
  int64_t missing = 0; ///< calls with neither a plan nor kernels instead
};

/// Asks for the plans of a step with `microbatches` (0: as compiled) on
/// `architectures`, such as "sm_80,sm_90". Throws an `Error` if the target is
/// not a device, or the library is missing or cannot describe such a device.
LibraryPlans libraryPlans(const Artifact &artifact, int64_t microbatches,
                          const std::string &architectures);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARYPLANS_H
