//===- RowTeams.h - how rows are dealt out to threads -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A team of threads, one warp or more, takes a row. Where a kernel also adds up
// over the rows, its teams take several each, one after the other, and every
// block leaves one partial sum: fewer blocks leave less to add up, more keep
// the device busy.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWTEAMS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWTEAMS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>

namespace mlir {
class Operation;
} // namespace mlir

namespace stagewright::device {

struct RowTeams {
  int64_t team;   ///< threads that share a row
  int64_t teams;  ///< in a block
  int64_t rows;   ///< that each team takes
  int64_t blocks; ///< in the grid
  bool keeps;     ///< each thread its part of a row in registers

  int64_t threads() const { return team * teams; }
};

/// Of `rows` rows with up to `longest` turns each.
RowTeams dealRows(int64_t rows, int64_t longest);

/// The same for the members of a row group, marked as such, of which the last
/// sums over the rows. Nothing where it does not, or where that does not pay:
/// rows too long for registers, or too few blocks.
std::optional<RowTeams> dealSummedRows(llvm::ArrayRef<mlir::Operation *> group);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWTEAMS_H
