//===- Schedule.cpp - the text form of actions ----------------------------===//
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

/// The suffix of a pair, as in PyTorch.
static constexpr std::string_view kPair = "OVERLAP_F_B";

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

std::string toString(const Order &order) {
  std::string text;
  for (size_t i = 0; i < order.size(); ++i) {
    if (!text.empty())
      text += ' ';
    if (i + 1 == order.size() || !order[i + 1].paired) {
      text += toString(order[i]);
      continue;
    }
    text += '(' + toString(order[i]) + ';' + toString(order[i + 1]) + ')';
    text += kPair;
    ++i;
  }
  return text;
}

/// Takes a number of digits only from the front of `text`.
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

/// Parses `(3F1;4B0)OVERLAP_F_B` and appends both actions.
static Status parsePair(std::string_view text, Order &order) {
  Error wrong{"'" + std::string(text) +
              "' is not a pair; write a forward, then a backward of another "
              "microbatch or stage, as in (3F1;4B0)" +
              std::string(kPair)};
  size_t middle = text.find(';'), close = text.find(')');
  if (middle == std::string_view::npos || close == std::string_view::npos ||
      close < middle || text.substr(close + 1) != kPair)
    return wrong;
  Result<Action> first = parseAction(text.substr(1, middle - 1));
  Result<Action> second =
      parseAction(text.substr(middle + 1, close - middle - 1));
  if (!first)
    return first.error();
  if (!second)
    return second.error();
  if (!isPair(*first, *second))
    return wrong;
  second->paired = true;
  order.push_back(*first);
  order.push_back(*second);
  return {};
}

Result<Order> parseOrder(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  Order order;
  while (true) {
    size_t start = text.find_first_not_of(kSpace);
    if (start == std::string_view::npos)
      return order;
    text.remove_prefix(start);
    size_t length = std::min(text.find_first_of(kSpace), text.size());
    std::string_view word = text.substr(0, length);
    Status status;
    if (word.front() == '(')
      status = parsePair(word, order);
    else if (Result<Action> action = parseAction(word))
      order.push_back(*action);
    else
      status = action.error();
    if (!status)
      return Error{"action " + std::to_string(order.size() + 1) + ": " +
                   status.error().message};
    text.remove_prefix(length);
  }
}

} // namespace stagewright
