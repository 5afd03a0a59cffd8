//===- GroupRows.h - loops over the rows of a group -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_ROWS_GROUPROWS_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_ROWS_GROUPROWS_H

#include "mlir/IR/PatternMatch.h"
#include "stagewright/Conversion/BodiesToKernels/RowGroups.h"

namespace stagewright::host {

using bodies::BlockLimits;
using bodies::RowGroup;
using bodies::RowMember;

/// Replaces the members by a loop over blocks of rows in the place of the first
/// member; the caller must sort the block afterwards.
void writeRowLoop(const RowGroup &group, BlockLimits limits,
                  mlir::RewriterBase &rewriter);

} // namespace stagewright::host

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_ROWS_GROUPROWS_H
