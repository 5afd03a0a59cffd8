//===- InPlaceLoops.h - loops that write what they read ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_INPLACELOOPS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_INPLACELOOPS_H

#include "mlir/IR/Value.h"

namespace stagewright::host {

/// Loops over blocks of rows that carry `tensor` and read it from outside get
/// the block that they are about to write from what they carry: it is the same,
/// since every turn writes a block of its own. One-shot analysis would copy the
/// whole tensor otherwise, as of an optimizer's state. Other reads stay.
void readWhatIsCarried(mlir::Value tensor);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_INPLACELOOPS_H
