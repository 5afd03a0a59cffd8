//===- Schedule.cpp - the text form of actions ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Schedule.h"
#include <charconv>

namespace stagewright {

std::string toString(const Action &action) {
  std::string text =
      std::to_string(action.stage) + static_cast<char>(action.kind);
  if (action.kind != ActionKind::Update)
    text += std::to_string(action.microbatch);
  return text;
}

std::string toString(const Order &order) {
  std::string text;
  for (const Action &action : order) {
    if (!text.empty())
      text += ' ';
    text += toString(action);
  }
  return text;
}

/// Takes a number of digits off the front of `text`.
static bool takeNumber(std::string_view &text, int64_t &number) {
  if (text.empty() || text.front() < '0' || text.front() > '9')
    return false;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(end - text.data());
  return code == std::errc();
}

Result<Action> parseAction(std::string_view text) {
  Error wrong{"'" + std::string(text) +
              "' is not an action; write stage, kind (F, B, I, W, R or U) and "
              "microbatch, as in 2F0"};
  std::string_view rest = text;
  Action action;
  if (!takeNumber(rest, action.stage) || rest.empty() ||
      std::string_view("FBIWRU").find(rest.front()) == std::string_view::npos)
    return wrong;
  action.kind = static_cast<ActionKind>(rest.front());
  rest.remove_prefix(1);
  if (action.kind != ActionKind::Update && !takeNumber(rest, action.microbatch))
    return wrong;
  if (!rest.empty())
    return wrong;
  return action;
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
    Result<Action> action = parseAction(text.substr(0, length));
    if (!action)
      return action.error();
    order.push_back(*action);
    text.remove_prefix(length);
  }
}

} // namespace stagewright
