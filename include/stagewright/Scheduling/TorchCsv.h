//===- TorchCsv.h - schedules as PyTorch's CSV ------------------*- C++ -*-===//
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
// The cells of FSDP in the second kind (UNSHARD, RESHARD, REDUCE_GRAD) are no
// part of our schedules: they are checked and dropped, or written where torch
// writes them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TORCHCSV_H
#define STAGEWRIGHT_SCHEDULING_TORCHCSV_H

#include "stagewright/Scheduling/Communication.h"

namespace stagewright {

/// What a file says.
struct TorchCsv {
  /// Called "csv"; as many stages and microbatches as its cells name.
  Schedule schedule;
  /// It has sends and receives; `communication` has all of them.
  bool hasCommunication = false;
  CommSchedule communication;
  /// Where the number of microbatches is from: "line 4, cell 11: '3F6'".
  std::string lastMicrobatch;
};

/// Reads a file of either kind, whether or not it passes verify(); an error
/// carries line, cell and text. Linear in the cells.
Result<TorchCsv> readTorchCsv(std::string_view text);

/// `schedule` as a compute_only file. Updates are left out: torch's optimizer
/// is none of its schedule's business. Fails for what the form cannot say: a
/// forward that runs again, a stage on two ranks, a rank without actions.
Result<std::string> writeTorchCsv(const Schedule &schedule);

/// `schedule` as a compute_comms file. Each stage is unsharded before its first
/// action; its gradients are reduced and it is sharded again behind its last.
Result<std::string> writeTorchCsv(const CommSchedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TORCHCSV_H
