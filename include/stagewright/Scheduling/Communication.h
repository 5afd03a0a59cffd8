//===- Communication.h - sends, receives and waits --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second level of a schedule: the orders of Schedule.h with the messages
// between ranks made explicit. A message is what one stage hands to another for
// one microbatch: all edges between the two that the same phase makes. Stages
// that share a rank hand over without one. The two levels and the text are
// those of PyTorch's torch.distributed.pipelining (`compute_comms`):
//
//   rank 0   0F0 0SEND_F0 0RECV_B0 0F1 0SEND_F1 0RECV_B1 0B0 0WAIT_SEND_F0 ...
//   rank 1   1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1 ...
//
// Rules of a rank, as those of NCCL: SEND and RECV are posted and do not stop
// it. What goes from one rank to another is one channel; on it the k-th send
// meets the k-th receive, and both are done when both are posted (rendezvous).
// An action that needs a message waits for its receive, WAIT_SEND for its send.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_COMMUNICATION_H
#define STAGEWRIGHT_SCHEDULING_COMMUNICATION_H

#include "stagewright/Scheduling/Channels.h"
#include "stagewright/Scheduling/StageGraph.h"

namespace stagewright {

enum class CommKind { Compute, Send, Receive, WaitSend };

/// One entry of a rank's list.
struct CommAction {
  CommKind kind = CommKind::Compute;
  /// What is computed. Of a communication: this rank's stage, the microbatch,
  /// and as `kind` the phase that made the message: F, I or W.
  Action action;
  int64_t peer = -1; ///< The other stage of a communication.

  friend bool operator==(const CommAction &, const CommAction &) = default;
};

using CommOrder = std::vector<CommAction>;

struct CommSchedule {
  int64_t stages = 0, microbatches = 0;
  std::vector<CommOrder> ranks;

  friend bool operator==(const CommSchedule &, const CommSchedule &) = default;
};

/// `2F0`, `0SEND_F0`, `1RECV_F0`, `0WAIT_SEND_F0`; B is what I makes. Without
/// more, F goes to the next stage and B to the one before; another stage is
/// written as well: `0SEND_F0>2`, `2RECV_F0<0`, `0WAIT_SEND_F0>2`; for W
/// always.
std::string toString(const CommAction &action);

/// Entries with a space between them, pairs as in `(3F1;4B0)OVERLAP_F_B`.
std::string toString(const CommOrder &order);

/// Reads what toString() writes; the error shows the entry.
Result<CommOrder> parseCommOrder(std::string_view text);

struct CommOptions {
  /// Messages of one route that a receiver has room for, from the post of the
  /// receive to the last use, where the graph states no depth; more where the
  /// order needs more. At least 1.
  int64_t receiveBuffers = 2;
  /// Messages of one route that a sender keeps until their sends are done; more
  /// where the ranks would otherwise wait in a circle. At least 1.
  int64_t sendBuffers = 2;
};

/// The messages of one kind between two stages that lie on two given ranks.
struct CommRoute {
  ActionKind value = ActionKind::Forward; ///< Phase that makes them.
  int64_t fromStage = 0, toStage = 0, fromRank = 0, toRank = 0;
  int64_t buffers = 1; ///< At the receiver.

  friend bool operator==(const CommRoute &, const CommRoute &) = default;
};

struct CommPlan {
  CommSchedule schedule;
  std::vector<CommRoute> routes;
  std::vector<Channel> channels; ///< With the round that each is set up in.
  int64_t sendBuffers = 1;
};

/// Makes the messages of `schedule` explicit: each send behind the action that
/// makes the message, each receive as early as the buffers of its route and the
/// order of its channel (that of the sends) let it be posted, each wait just
/// before its buffer is used again, the last ones at the end. The result passes
/// verify(). Fails where `schedule` does not, and where an edge's depth is too
/// small: the error says which would do. O(n log n) for n messages, times the
/// buffers that have to be added.
Result<CommPlan> insertCommunication(const Schedule &schedule,
                                     const StageGraph &graph,
                                     const CommOptions &options = {});

/// Proves that the lists compute a schedule that passes verify() and that every
/// message is sent once, behind what makes it, received once, before what uses
/// it, and waited for once, behind its send; that both ends of each channel
/// have the same order; that no more messages of an edge with a depth are held
/// than that; and that the ranks finish. An error names steps, both ranks and
/// what each waits for, and draws them. Linear in the entries: p = 64, M = 512,
/// v = 2 in 0.2 s.
Status verify(const CommSchedule &schedule, const StageGraph &graph);

/// The computations of `schedule` alone.
Schedule withoutCommunication(const CommSchedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_COMMUNICATION_H
