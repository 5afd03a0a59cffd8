//===- LibraryOperands.h - addresses that libraries accept ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_LIBRARYOPERANDS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_LIBRARYOPERANDS_H

#include "mlir/IR/Block.h"

namespace stagewright::device {

/// Copies operands of library calls to buffers of their own if the host does
/// not know their addresses, such as that of a slice with a computed start, or
/// if the library does not accept their alignment.
void copyLibraryOperands(mlir::Block &body);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_LIBRARYOPERANDS_H
