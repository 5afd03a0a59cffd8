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

/// For parallel loops over blocks of rows that carry `tensor` and also read it
/// from outside: reads of the block that an iteration writes now read the
/// carried value. It has the same elements, since every iteration writes its
/// own block. Otherwise one-shot bufferization would copy the whole tensor,
/// such as the state of an optimizer. A loop that reads other parts of it is
/// not changed.
void readWhatIsCarried(mlir::Value tensor);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_INPLACELOOPS_H
