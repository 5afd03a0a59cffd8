//===- Plan.h - a step as work on streams -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The total order of a step, put on streams: one of computing for every rank of
// this process, one for every channel that copies between devices, one for the
// messages of every rank that sends to other processes, and one in each
// direction for stashes that wait on the host. Events carry the dependences
// that a stream alone does not keep. What a plan can say is all that a step
// does: nothing in it can wait on the host.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PLAN_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PLAN_H

#include "Order.h"

namespace stagewright::runtime::cuda {

struct Operation {
  enum Kind : uint8_t {
    Work,     ///< number: the command of `rank` that works
    Record,   ///< number: event
    Wait,     ///< number: event
    CopyTo,   ///< number: channel; m
    SendTo,   ///< number: channel; m; the sender's half of a message
    TakeFrom, ///< number: channel; m; the receiver's half
    Sum,      ///< number: collective; this rank's part in it
    Offload,  ///< number: the command of `rank` that copies to its host
    Fetch,    ///< and from there
    Tell,     ///< number: how many of these are done
    Stamp,    ///< number: time stamp
    Begin,    ///< number: the command of `rank` that begins an action, also
              ///< where that goes on after another rank's
    End       ///< ends it
  };
  Kind kind;
  int32_t stream = 0, rank = 0;
  size_t number = 0;
  int64_t m = 0;
};

/// What a stream is for.
struct StreamUse {
  int64_t rank = 0;     ///< on whose device it is
  int64_t channel = -1; ///< which it copies; -1: none
  bool network = false; ///< it sends and takes messages
  bool copies = false;  ///< it copies stashes to the host, or from there
  bool computes() const { return !moves() && !copies; }
  /// Whether it carries messages, or sums over ranks.
  bool moves() const { return channel >= 0 || network; }
};

/// What the time between two stamps is of: an action, a node, a message, or a
/// sum from its beginning until it is awaited.
struct Span {
  enum Kind : uint8_t { Action, Node, Sent, Received, Summed } kind = Action;
  int32_t rank = 0;
  int64_t id = 0, m = 0;
  int32_t letter = 0;
  size_t first = 0, last = 0; ///< numbers of its stamps
};

struct Plan {
  std::vector<StreamUse> streams;
  std::vector<Operation> operations;
  size_t events = 0, stamps = 0;
  size_t messages = 0; ///< halves of messages, and sums
  std::vector<Span> spans;
  /// Transfers that a device must have under way at once for the step to
  /// finish: 1 where there are messages between processes, else 0.
  int64_t concurrentTransfers = 0;
};

struct PlanOptions {
  std::vector<bool> local; ///< by rank: whether this process runs it
  bool actions = false;    ///< stamp the borders of actions and messages
  bool nodes = false;      ///< and of nodes
};

/// Puts the ranks of this process on streams. The first stream begins the step
/// and ends it: every other one waits for its beginning, and it waits for their
/// ends.
Plan planStep(const Manifest &manifest, const Memory &memory,
              const std::vector<RankProgram> &programs,
              const std::vector<Placed> &order, const PlanOptions &options);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PLAN_H
