//===- Messages.h - the messages of a chain of stages -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: what neighbouring stages send each other, in a flat
// table by kind (forwards from each stage but the last, then gradients to each
// of these) and microbatch, with the numbers in Dependences of the actions that
// make and use each message.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_TORCHMESSAGES_H
#define STAGEWRIGHT_SCHEDULING_TORCHMESSAGES_H

#include "stagewright/Scheduling/Dependences.h"
#include "stagewright/Scheduling/TorchCsv.h"

namespace stagewright {

/// The computations of `lists` alone.
Schedule computationsOf(const TorchLists &lists);

/// The chain of the stages of `schedule`, forward-only if it has no backward.
StageGraph chainOf(const Schedule &schedule);

class Messages {
public:
  Messages(const Dependences &dependences, const StageGraph &chain);

  size_t size() const { return messages.size(); }
  size_t kindOf(size_t id) const { return id / microbatches; }
  size_t made(size_t id) const { return messages[id].made; }
  size_t used(size_t id) const { return messages[id].used; }
  int64_t fromRank(size_t id) const { return dependences.rank(made(id)); }
  int64_t toRank(size_t id) const { return dependences.rank(used(id)); }
  bool crosses(size_t id) const { return fromRank(id) != toRank(id); }

  /// The message of a send, receive or wait, or size() if there is none.
  size_t find(const TorchEntry &entry) const;
  /// The message from another rank that action `number` uses, or size().
  size_t inputOf(size_t number) const;
  /// The entry of `op` (a send, receive or wait) for a message.
  TorchEntry entry(TorchOp op, size_t id) const;

private:
  size_t find(bool isForward, int64_t lowStage, int64_t microbatch) const;

  struct Message {
    size_t made = 0, used = 0;
  };
  const Dependences &dependences;
  int64_t hops, microbatches;
  std::vector<Message> messages;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_TORCHMESSAGES_H
