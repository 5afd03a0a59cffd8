//===- TorchCsv.h - schedules in PyTorch's CSV format -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file that torch.distributed.pipelining reads and writes
// (_PipelineScheduleRuntime._load_csv and _dump_csv, torch 2.15): a row for
// every rank, a cell for every action, blank cells where the rank is idle.
//
//   compute_only    0F0,0F1,(1F0;0B0)OVERLAP_F_B,,1I0,1W0
//   compute_comms   0UNSHARD,0F0,0SEND_F0,0RECV_B0,0WAIT_SEND_F0,0B0,…
//
// Cells of FSDP in compute_comms files (UNSHARD, RESHARD, REDUCE_GRAD) are not
// part of our schedules: the reader checks and drops them, the writer adds them
// where torch does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TORCHCSV_H
#define STAGEWRIGHT_SCHEDULING_TORCHCSV_H

#include "stagewright/Scheduling/Communication.h"

namespace stagewright {

/// The contents of a file.
struct TorchCsv {
  /// Its kind is "csv"; stages and microbatches are counted from the cells.
  Schedule schedule;
  /// Whether it has sends and receives, which are then in `communication`.
  bool hasCommunication = false;
  CommSchedule communication;
  /// The cell that sets the number of microbatches: "line 4, cell 11: '3F6'".
  std::string lastMicrobatch;
};

/// Reads a file of either kind without calling verify(). An error has the line,
/// the cell and its text. Linear in the cells.
Result<TorchCsv> readTorchCsv(std::string_view text);

/// `schedule` as a compute_only file. Updates are left out, because torch's
/// schedules do not include the optimizer. Fails if the format cannot express
/// it: a recomputed forward, a stage on two ranks, a rank without actions.
Result<std::string> writeTorchCsv(const Schedule &schedule);

/// `schedule` as a compute_comms file. Each stage is unsharded before its first
/// action; after its last its gradients are reduced and it is resharded.
Result<std::string> writeTorchCsv(const CommSchedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TORCHCSV_H
