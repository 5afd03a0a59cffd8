//===- InPlaceLoops.h - loops that update a tensor in place -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_INPLACELOOPS_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_INPLACELOOPS_H

#include "mlir/IR/Value.h"

namespace stagewright::bodies {

/// If `tensor` is an initial value of a parallel loop over blocks of rows, and
/// the body also reads `tensor` itself, changes the reads of the block that the
/// iteration writes: they read the carried value instead. That block has the
/// same elements in both, since every iteration writes only its own block.
/// Otherwise one-shot bufferization would copy the whole tensor, such as the
/// state of an optimizer. A loop that reads other parts of `tensor` is not
/// changed.
void readWhatIsCarried(mlir::Value tensor);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_INPLACELOOPS_H
