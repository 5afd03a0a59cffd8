//===- RowTeams.h - how rows are divided among threads ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A team of threads, one warp or more, computes a row. If a kernel also sums
// over the rows, each team computes several, one after the other, and every
// block writes one partial sum: fewer blocks leave less to add, more keep the
// device busy.
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
  int64_t rows;   ///< that each team computes
  int64_t blocks; ///< in the grid
  bool keeps;     ///< threads keep their parts of a row in registers

  int64_t threads() const { return team * teams; }
};

/// The teams for `rows` rows with at most `longest` turns each.
RowTeams dealRows(int64_t rows, int64_t longest);

/// The teams for marked members of a row group, of which the last sums over the
/// rows. None if it does not, if a shared kernel would be slower (rows too long
/// for registers, or too few blocks), or if the rows cannot be divided equally
/// among a suitable number of teams.
std::optional<RowTeams> dealSummedRows(llvm::ArrayRef<mlir::Operation *> group);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_ROWTEAMS_H
