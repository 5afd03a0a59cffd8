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
// In a compute_comms file the messages between ranks are explicit. A message
// contains what one phase of a stage makes for the neighbouring stage in one
// microbatch: F for the next stage, B for the one before. Stages on one rank
// need no messages. A rank posts SEND and RECV and goes on. All messages from
// one rank to another form one channel: its k-th send matches its k-th receive,
// and both complete when both are posted (rendezvous). An action that needs a
// message waits for the receive of it, WAIT_SEND for the send of its message.
// The lowering to rank programs does not use these lists: it derives messages
// from the orders.
//
// Cells of FSDP (UNSHARD, RESHARD, REDUCE_GRAD) are not part of our schedules:
// the reader checks and drops them, the writer adds them where torch does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TORCHCSV_H
#define STAGEWRIGHT_SCHEDULING_TORCHCSV_H

#include "stagewright/Scheduling/Schedule.h"

namespace stagewright {

/// What a cell does; those from Unshard on are FSDP's.
enum class TorchOp {
  Compute,
  Send,
  Receive,
  WaitSend,
  Unshard,
  Reshard,
  ReduceGrad,
  WaitReduceGrad
};

/// A cell, or one of the two actions of a cell with a pair.
struct TorchEntry {
  TorchOp op = TorchOp::Compute;
  /// The computation. For a message the stage on this rank, the microbatch, and
  /// as `kind` the phase that made it, F or I.
  Action action;

  friend bool operator==(const TorchEntry &, const TorchEntry &) = default;
};

using TorchOrder = std::vector<TorchEntry>;

/// A schedule with its messages, without FSDP's cells.
struct TorchLists {
  int64_t stages = 0, microbatches = 0;
  std::vector<TorchOrder> ranks;

  friend bool operator==(const TorchLists &, const TorchLists &) = default;
};

/// `2F0`, `0SEND_F0`, `1RECV_F0`, `0WAIT_SEND_F0`; I's messages are written B.
std::string toString(const TorchEntry &entry);

/// The contents of a file.
struct TorchCsv {
  /// Its kind is "csv"; stages and microbatches are counted from the cells.
  Schedule schedule;
  /// Whether it has sends and receives, which are then in `lists`.
  bool hasTransfers = false;
  TorchLists lists;
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

/// `lists` as a compute_comms file. Each stage is unsharded before its first
/// action; after its last its gradients are reduced and it is resharded.
Result<std::string> writeTorchCsv(const TorchLists &lists);

/// Makes the messages of `schedule` explicit. Each send follows the action that
/// makes the message. Receives of a channel are posted in the order of its
/// sends, each as early as two buffers for the messages of one phase between
/// two stages allow; there are more buffers if the order needs them. A send is
/// waited for before the second next message of its phase and stages is made,
/// so that two send buffers are enough, or later if the ranks would otherwise
/// deadlock. The result passes verify(). Fails if `schedule` does not.
/// O(n log n) for n messages, times the number of buffers that are added.
Result<TorchLists> insertTransfers(const Schedule &schedule);

/// Checks that `lists` compute a schedule that passes verify(); that every
/// message is sent once, after the action that makes it, received once, before
/// the action that uses it, and waited for once, after its send; that both ends
/// of each channel have the same order; and that the ranks finish. The error of
/// a deadlock names the steps and ranks of the cycle, and draws them. 64 ranks
/// with 2 chunks and 512 microbatches take 0.2 s.
Status verify(const TorchLists &lists);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TORCHCSV_H
