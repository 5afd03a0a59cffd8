//===- TorchCsvCells.h - the cells of PyTorch's CSV -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: text and cells, before they are a schedule.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TORCHCSVCELLS_H
#define STAGEWRIGHT_SCHEDULING_TORCHCSVCELLS_H

#include "stagewright/Scheduling/Communication.h"
#include <optional>

namespace stagewright {

/// What a cell does beside compute; torch's names without a microbatch number.
enum class TorchOp {
  Compute,
  SendF,
  RecvF,
  SendB,
  RecvB,
  WaitSendF,
  WaitSendB,
  Unshard,
  Reshard,
  ReduceGrad,
  WaitReduceGrad
};

/// One action of a cell; a pair makes two.
struct TorchCell {
  TorchOp op = TorchOp::Compute;
  Action action;               ///< Its kind counts for Compute only.
  size_t line = 0, number = 0; ///< From 1.
  std::string_view text;       ///< Of the whole cell.
};

/// All cells that are not blank, by rank. The views point into `text`.
Result<std::vector<std::vector<TorchCell>>>
readTorchCells(std::string_view text);

/// Whether a cell is part of a transfer.
inline bool isTransfer(TorchOp op) {
  return op >= TorchOp::SendF && op <= TorchOp::WaitSendB;
}

/// "line 2, cell 5: '3SEND_F1' ".
std::string placeOf(const TorchCell &cell);

/// The cells of a transfer and of compute as entries of communication; none for
/// the others.
std::optional<CommAction> communicationOf(const TorchCell &cell);

/// An error unless the gradients of a rank's stages are reduced one at a time
/// and waited for, as torch demands.
Status checkTorchReductions(const std::vector<TorchCell> &row);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TORCHCSVCELLS_H
