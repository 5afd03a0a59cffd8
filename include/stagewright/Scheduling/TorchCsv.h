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
// A Schedule has no communication, so the cells of the second kind are checked
// and then dropped.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TORCHCSV_H
#define STAGEWRIGHT_SCHEDULING_TORCHCSV_H

#include "stagewright/Scheduling/Schedule.h"

namespace stagewright {

/// What a file says.
struct TorchCsv {
  /// Called "csv"; as many stages and microbatches as its cells name.
  Schedule schedule;
  bool hasCommunication = false; ///< It has sends and receives.
  /// Where the number of microbatches is from: "line 4, cell 11: '3F6'".
  std::string lastMicrobatch;
};

/// Reads a file of either kind. The schedule need not verify(). Where there are
/// sends or receives, every value that crosses ranks has both, after it is made
/// and before it is used, and each send is waited for once; reductions of
/// gradients run one at a time. An error carries line, cell and text. Time n
/// log n for n cells.
Result<TorchCsv> readTorchCsv(std::string_view text);

/// `schedule` as a compute_only file. Updates are left out: torch's optimizer
/// is none of its schedule's business. Fails for what the form cannot say: a
/// forward that runs again, a stage on two ranks, a rank without actions.
Result<std::string> writeTorchCsv(const Schedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TORCHCSV_H
