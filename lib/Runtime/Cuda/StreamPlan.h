//===- StreamPlan.h - a step as work on streams -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The total order of a step, assigned to streams. Each rank of this process has
// one stream for computing, one for messages if it communicates with other
// processes or takes part in sums over ranks, and two if it offloads stashes,
// to the host and back. Each channel that copies between devices has one.
// Events carry the dependences between streams. A step executes exactly the
// operations of its plan, none of which blocks the host.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_STREAMPLAN_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_STREAMPLAN_H

#include "Order.h"

namespace stagewright::runtime::cuda {

struct Operation {
  enum Kind : uint8_t {
    Work,     ///< number: the command of `rank`
    Record,   ///< number: event
    Wait,     ///< number: event
    CopyTo,   ///< number: channel; m; a copy between devices
    SendTo,   ///< number: channel; m; send to another process
    TakeFrom, ///< number: channel; m; receive from another process
    Sum,      ///< number: collective; this rank's part of it
    Offload,  ///< number: the command of `rank` that copies to its host
    Fetch,    ///< number: the command of `rank` that copies from its host
    Tell,     ///< number: how many SendTo, TakeFrom and Sum with other
              ///< processes are done
    Stamp,    ///< number: time stamp
    Begin,    ///< number: the command of `rank` that begins an action; repeated
              ///< if the action continues after one of another rank
    End       ///< ends the range of the last Begin
  };
  Kind kind;
  int32_t stream = 0, rank = 0;
  size_t number = 0;
  int64_t m = 0;
};

/// The purpose of a stream.
struct StreamUse {
  int64_t rank = 0;     ///< it is on the device of this rank
  int64_t channel = -1; ///< the channel that it copies; -1: none
  bool network = false; ///< it carries messages of processes, or sums
  bool copies = false;  ///< it copies stashes to or from the host
  bool computes() const { return !moves() && !copies; }
  /// Whether it carries messages, or sums over ranks.
  bool moves() const { return channel >= 0 || network; }
};

/// What is measured between two stamps: an action, a node, a message, or a sum
/// from its beginning until the wait for it ends.
struct Span {
  enum Kind : uint8_t { Action, Node, Sent, Received, Summed } kind = Action;
  int32_t rank = 0;
  int64_t id = 0, m = 0;
  int32_t letter = 0;
  size_t first = 0, last = 0; ///< numbers of the stamps
};

struct Plan {
  std::vector<StreamUse> streams;
  std::vector<Operation> operations;
  size_t events = 0, stamps = 0;
  size_t messages = 0; ///< number of Tell
  std::vector<Span> spans;
  /// Transfers that a device must be able to run concurrently for the step to
  /// finish: 1 if there are sums over ranks, or messages between processes,
  /// else 0.
  int64_t concurrentTransfers = 0;
};

struct PlanOptions {
  std::vector<bool> local; ///< by rank: whether this process runs it
  bool actions = false;    ///< stamp begin and end of actions, messages, sums
  bool nodes = false;      ///< stamp begin and end of nodes
};

/// Assigns the commands of the ranks of this process to streams. The step
/// begins and ends on the first stream: all others wait for its beginning, and
/// it waits for their ends.
Plan planStep(const Manifest &manifest, const Memory &memory,
              const std::vector<RankProgram> &programs,
              const std::vector<OrderedCommand> &order,
              const PlanOptions &options);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_STREAMPLAN_H
