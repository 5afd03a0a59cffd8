//===- Schedule.cpp - actions and their text form -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Support/ParseNumber.h"
#include <cstring>

namespace stagewright {

bool runs(const Schedule &schedule, ActionKind kind) {
  for (const Order &order : schedule.ranks)
    for (const Action &action : order)
      if (action.kind == kind)
        return true;
  return false;
}

Schedule runAgain(Schedule schedule, const std::vector<bool> &again) {
  for (Order &order : schedule.ranks) {
    Order longer;
    for (const Action &action : order) {
      bool before =
          again[action.stage] && (action.kind == ActionKind::Backward ||
                                  action.kind == ActionKind::InputGradient);
      Action repeated{ActionKind::Recompute, action.stage, action.microbatch};
      if (before)
        longer.insert(longer.end() - (action.paired ? 1 : 0), repeated);
      longer.push_back(action);
    }
    order = std::move(longer);
  }
  return schedule;
}

std::optional<ActionKind> actionKind(char letter) {
  if (letter == 0 || !std::strchr("FBIWRU", letter))
    return std::nullopt;
  return static_cast<ActionKind>(letter);
}

bool isPair(const Action &first, const Action &second) {
  bool backward = second.kind == ActionKind::Backward ||
                  second.kind == ActionKind::InputGradient;
  return first.kind == ActionKind::Forward && backward &&
         (first.stage != second.stage || first.microbatch != second.microbatch);
}

std::string toString(const Action &action) {
  std::string text = std::to_string(action.stage) + letter(action.kind);
  if (action.kind != ActionKind::Update)
    text += std::to_string(action.microbatch);
  return text;
}

/// Takes a number without a sign from the front of `text`.
static bool takeDigits(std::string_view &text, int64_t &number) {
  std::optional<int64_t> taken =
      text.starts_with('-') ? std::nullopt : takeNumber(text);
  number = taken.value_or(0);
  return taken.has_value();
}

Result<Action> parseAction(std::string_view text) {
  Error wrong{"'" + std::string(text) +
              "' is not an action; write stage, kind (F, B, I, W, R or U) and "
              "microbatch, as in 2F0"};
  std::string_view rest = text;
  Action action;
  if (!takeDigits(rest, action.stage) || rest.empty())
    return wrong;
  std::optional<ActionKind> kind = actionKind(rest.front());
  if (!kind)
    return wrong;
  action.kind = *kind;
  rest.remove_prefix(1);
  if (action.kind != ActionKind::Update && !takeDigits(rest, action.microbatch))
    return wrong;
  int64_t number = 0;
  if (action.kind == ActionKind::Update && takeDigits(rest, number) &&
      rest.empty())
    return Error{"'" + std::string(text) +
                 "' is not an action; an update has no microbatch, write " +
                 toString(action)};
  if (!rest.empty())
    return wrong;
  return action;
}

} // namespace stagewright
