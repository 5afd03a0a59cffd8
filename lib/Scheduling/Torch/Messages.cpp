//===- Messages.cpp - the messages of a chain of stages -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Torch/Messages.h"

namespace stagewright {

using enum ActionKind;

Schedule computationsOf(const TorchLists &lists) {
  Schedule result{"compute", lists.stages, lists.microbatches, {}};
  for (const TorchOrder &list : lists.ranks) {
    Order &order = result.ranks.emplace_back();
    for (const TorchEntry &entry : list)
      if (entry.op == TorchOp::Compute)
        order.push_back(entry.action);
  }
  return result;
}

StageGraph chainOf(const Schedule &schedule) {
  return chainGraph(schedule.stages, !runs(schedule, Backward) &&
                                         !runs(schedule, InputGradient));
}

Messages::Messages(const Dependences &dependences, const StageGraph &chain)
    : dependences(dependences), hops(chain.stages - 1),
      microbatches(dependences.numMicrobatches()) {
  for (ActionKind kind : {Forward, InputGradient})
    for (int64_t low = 0; low < hops; ++low)
      for (int64_t m = 0; m < microbatches; ++m) {
        if (kind == InputGradient && chain.forwardOnly)
          return;
        bool back = kind == InputGradient;
        messages.push_back({dependences.find({kind, low + back}, m),
                            dependences.find({kind, low + !back}, m)});
      }
}

size_t Messages::find(bool isForward, int64_t lowStage,
                      int64_t microbatch) const {
  if (lowStage < 0 || lowStage >= hops || microbatch < 0 ||
      microbatch >= microbatches)
    return size();
  int64_t kind = isForward ? lowStage : hops + lowStage;
  return std::min<size_t>(kind * microbatches + microbatch, size());
}

size_t Messages::find(const TorchEntry &entry) const {
  bool isForward = entry.action.kind == Forward;
  bool isLow = isForward != (entry.op == TorchOp::Receive);
  return find(isForward, entry.action.stage - !isLow, entry.action.microbatch);
}

size_t Messages::inputOf(size_t number) const {
  const Action &action = dependences.action(number);
  if (action.kind != Forward && !runsPhase(action.kind, InputGradient))
    return size();
  size_t id = find({TorchOp::Receive, action});
  return id < size() && crosses(id) ? id : size();
}

TorchEntry Messages::entry(TorchOp op, size_t id) const {
  size_t end = op == TorchOp::Receive ? used(id) : made(id);
  Action action = dependences.action(end);
  bool isForward = kindOf(id) < size_t(hops);
  return {
      op,
      {isForward ? Forward : InputGradient, action.stage, action.microbatch}};
}

} // namespace stagewright
