//===- Schedule.h - the ordered actions of every rank -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is data: for every rank a list of actions (kind, stage,
// microbatch) in the order in which it computes them. It has no times and no
// communication; a lowering makes communication explicit. These two levels and
// the text form of an action, `2F0`, are those of PyTorch's
// torch.distributed.pipelining, and so is the pair `(3F1;4B0)OVERLAP_F_B`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_SCHEDULE_H
#define STAGEWRIGHT_SCHEDULING_SCHEDULE_H

#include "stagewright/Support/Result.h"
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagewright {

/// What an action computes; the values are the letters of the text form.
enum class ActionKind : char {
  Forward = 'F',
  Backward = 'B',       ///< InputGradient and WeightGradient in one.
  InputGradient = 'I',  ///< An earlier stage waits for it.
  WeightGradient = 'W', ///< No other stage waits for it.
  Recompute = 'R',      ///< The forward again, before the backward.
  Update = 'U'          ///< The optimizer, once per step.
};

/// One piece of work of a rank.
struct Action {
  ActionKind kind = ActionKind::Forward;
  int64_t stage = 0;
  int64_t microbatch = 0; ///< 0 for Update.
  /// Whether it forms a pair with the action before it on its rank, and may
  /// overlap with it: a backward after a forward of another microbatch or stage
  /// (DualPipe).
  bool paired = false;

  friend auto operator<=>(const Action &, const Action &) = default;
};

/// The actions of one rank, in the order in which it runs them.
using Order = std::vector<Action>;

/// The orders of all ranks.
struct Schedule {
  std::string kind; ///< Name of the generator, such as "1f1b".
  int64_t stages = 0;
  int64_t microbatches = 0;
  std::vector<Order> ranks;

  friend bool operator==(const Schedule &, const Schedule &) = default;
};

/// Whether some rank runs an action of `kind`.
bool runs(const Schedule &schedule, ActionKind kind);

/// `schedule` with a recomputation right before each backward of the stages in
/// `again`; before the pair if the backward is in one.
Schedule runAgain(Schedule schedule, const std::vector<bool> &again);

constexpr char letter(ActionKind kind) { return static_cast<char>(kind); }

/// The kind whose letter is `letter`, if there is one.
std::optional<ActionKind> actionKind(char letter);

/// Whether two actions may overlap: a forward, then a backward of another
/// microbatch or stage.
bool isPair(const Action &first, const Action &second);

/// `2F0`; an update has no microbatch: `2U`.
std::string toString(const Action &action);

/// Reads the text of one action; the error shows it.
Result<Action> parseAction(std::string_view text);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_SCHEDULE_H
