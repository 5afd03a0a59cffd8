//===- MergeElements.h - independent elementwise kernels --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The start of a kernel costs about as much time as 3 MB of memory traffic. The
// gates of a recurrent network are smaller: in unrolled loops, operations of
// equal shape that do not need each other become one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGEELEMENTS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGEELEMENTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::device {

/// Merges elementwise operations in `singles`, which are in the order of their
/// block. Two are not merged if the second needs the first, or if something
/// between them overwrites what the first reads. Afterwards operations of the
/// block may be before what they read.
void mergeElements(llvm::SetVector<mlir::Operation *> &singles);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_MERGEELEMENTS_H
