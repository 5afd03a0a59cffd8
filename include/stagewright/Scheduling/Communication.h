//===- Communication.h - sends, receives and waits --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second level of a schedule: the orders of Schedule.h with the messages
// between ranks made explicit. A message has everything that one phase of a
// stage makes for another stage in one microbatch: all edges of the graph from
// that phase to that stage. Stages on the same rank need no messages. The two
// levels and the text are those of PyTorch's torch.distributed.pipelining
// (`compute_comms`):
//
//   rank 0   0F0 0SEND_F0 0RECV_B0 0F1 0SEND_F1 0RECV_B1 0B0 0WAIT_SEND_F0 ...
//   rank 1   1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1 ...
//
// A rank follows the rules of NCCL: it posts SEND and RECV and goes on. All
// messages from one rank to another form one channel: its k-th send matches its
// k-th receive, and both complete when both are posted (rendezvous). An action
// that needs a message waits for its receive, WAIT_SEND waits for its send.
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
  /// The computation; for a communication, the stage on this rank, the
  /// microbatch, and as `kind` the phase that made the message: F, I or W.
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

/// `2F0`, `0SEND_F0`, `1RECV_F0`, `0WAIT_SEND_F0`; messages of I are written B.
/// By default F goes to the next stage and B to the one before. Any other peer
/// is written out: `0SEND_F0>2`, `2RECV_F0<0`, `0WAIT_SEND_F0>2`; for W every
/// peer is.
std::string toString(const CommAction &action);

/// Entries separated by spaces, pairs as in `(3F1;4B0)OVERLAP_F_B`.
std::string toString(const CommOrder &order);

/// Reads what toString() writes; the error shows the entry.
Result<CommOrder> parseCommOrder(std::string_view text);

struct CommOptions {
  /// Receive buffers of a route, each in use from the post of a receive to the
  /// last use of its message, if the graph states no depth; increased if the
  /// order needs more. At least 1.
  int64_t receiveBuffers = 2;
  /// Messages of a route that a sender keeps until their sends complete;
  /// increased if the ranks would otherwise deadlock. At least 1.
  int64_t sendBuffers = 2;
};

/// The messages of one phase between two stages, for one pair of ranks.
struct CommRoute {
  ActionKind value = ActionKind::Forward; ///< Phase that makes them.
  int64_t fromStage = 0, toStage = 0, fromRank = 0, toRank = 0;
  int64_t buffers = 1; ///< At the receiver.

  friend bool operator==(const CommRoute &, const CommRoute &) = default;
};

struct CommPlan {
  CommSchedule schedule;
  std::vector<CommRoute> routes;
  std::vector<Channel> channels; ///< With the round in which each is set up.
  int64_t sendBuffers = 1;
};

/// Makes the messages of `schedule` explicit. Each send follows the action that
/// makes the message. Each receive is posted as early as the buffers of its
/// route and the order of its channel (that of the sends) allow. Each wait is
/// just before its buffer is reused, the last ones at the end. The result
/// passes verify(). Fails if `schedule` does not pass, or if an edge's depth is
/// too small: the error names one that is enough. O(n log n) for n messages,
/// times the number of buffers that have to be added.
Result<CommPlan> insertCommunication(const Schedule &schedule,
                                     const StageGraph &graph,
                                     const CommOptions &options = {});

/// Checks that the lists compute a schedule that passes verify(); that every
/// message is sent once, after the action that makes it, received once, before
/// the action that uses it, and waited for once, after its send; that both ends
/// of each channel have the same order; that no more messages of an edge with a
/// depth are held than that; and that the ranks finish. An error names the
/// steps, both ranks and what each waits for, and draws them. Linear in the
/// entries: p = 64, M = 512, v = 2 in 0.2 s.
Status verify(const CommSchedule &schedule, const StageGraph &graph);

/// Only the computations of `schedule`.
Schedule withoutCommunication(const CommSchedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_COMMUNICATION_H
