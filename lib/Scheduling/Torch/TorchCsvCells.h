//===- TorchCsvCells.h - reading the cells of PyTorch's CSV -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the text and its cells, before they become a
// schedule.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TORCHCSVCELLS_H
#define STAGEWRIGHT_SCHEDULING_TORCHCSVCELLS_H

#include "stagewright/Scheduling/TorchCsv.h"
#include <span>

namespace stagewright {

/// One entry of a cell; a cell with a pair has two.
struct TorchCell : TorchEntry {
  size_t line = 0, number = 0; ///< Place in the file, from 1.
  std::string_view text;       ///< The text of the whole cell.
};

/// All cells that are not blank, by rank. The views point into `text`.
Result<std::vector<std::vector<TorchCell>>>
readTorchCells(std::string_view text);

/// The part after the stage in the text of an entry that does not compute.
struct TorchOpName {
  std::string_view name;
  TorchOp op;
  /// For a message: the phase that made its value, F or I. For entries of FSDP,
  /// which have no microbatch: Update.
  ActionKind kind;
};
std::span<const TorchOpName> torchOpNames();

/// The start of an error: "line 2, cell 5: '3SEND_F1' ".
std::string placeOf(const TorchCell &cell);

/// An error unless a rank reduces the gradients of one stage at a time and
/// waits for each reduction, as PyTorch requires.
Status checkTorchReductions(const std::vector<TorchCell> &row);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TORCHCSVCELLS_H
