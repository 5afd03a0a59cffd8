//===- Alternatives.h - kernels in place of library calls -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When kernels are outlined, the operations that library calls will replace
// still exist. Kernels that do the same are outlined here, and launched only if
// the library has no algorithm (`rank.otherwise`): they cost code size, not
// time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ALTERNATIVES_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ALTERNATIVES_H

#include "stagewright/Conversion/BodiesToKernels/KernelOutliner.h"

namespace stagewright::device {

/// Outlines a kernel that computes `op`, on buffers, and creates a
/// `rank.otherwise` of it right after `op`.
void outlineAlternative(mlir::Operation *op, bodies::KernelOutliner &outliner);

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ALTERNATIVES_H
