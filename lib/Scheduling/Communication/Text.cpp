//===- Text.cpp - text form of orders with communication ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../TakeNumber.h"
#include "stagewright/Scheduling/Communication.h"
#include <limits>

namespace stagewright {

namespace {
struct Word {
  CommKind kind;
  std::string_view text;
};
} // namespace

static constexpr Word kWords[] = {{CommKind::WaitSend, "WAIT_SEND_"},
                                  {CommKind::Send, "SEND_"},
                                  {CommKind::Receive, "RECV_"}};

/// The default peer, which is not written; -1: none.
static int64_t usualPeer(CommKind kind, ActionKind value, int64_t stage) {
  if (value == ActionKind::WeightGradient ||
      stage == std::numeric_limits<int64_t>::max())
    return -1;
  bool up = (value == ActionKind::Forward) != (kind == CommKind::Receive);
  return up ? stage + 1 : stage - 1;
}

std::string toString(const CommAction &entry) {
  if (entry.kind == CommKind::Compute)
    return toString(entry.action);
  ActionKind value = entry.action.kind;
  std::string text = std::to_string(entry.action.stage);
  for (const Word &word : kWords)
    if (word.kind == entry.kind)
      text += word.text;
  text += value == ActionKind::InputGradient ? 'B' : static_cast<char>(value);
  text += std::to_string(entry.action.microbatch);
  if (entry.peer != usualPeer(entry.kind, value, entry.action.stage))
    text += (entry.kind == CommKind::Receive ? "<" : ">") +
            std::to_string(entry.peer);
  return text;
}

std::string toString(const CommOrder &order) {
  std::string text;
  for (size_t i = 0; i < order.size(); ++i) {
    text += text.empty() ? "" : " ";
    bool pair = order[i].kind == CommKind::Compute && i + 1 < order.size() &&
                order[i + 1].kind == CommKind::Compute &&
                order[i + 1].action.paired;
    text += pair ? toString(Order{order[i].action, order[i + 1].action})
                 : toString(order[i]);
    i += pair;
  }
  return text;
}

/// Parses one communication.
static Result<CommAction> parseCommunication(std::string_view text) {
  Error wrong{"'" + std::string(text) +
              "' is not a communication; write stage, SEND_, RECV_ or "
              "WAIT_SEND_, F or B, microbatch, and > or < with the other stage "
              "if it is not the next one, as in 0SEND_F3 or 2RECV_F3<0"};
  CommAction entry;
  std::string_view rest = text;
  if (!takeNumber(rest, entry.action.stage))
    return wrong;
  for (const Word &word : kWords)
    if (entry.kind == CommKind::Compute && rest.starts_with(word.text)) {
      entry.kind = word.kind;
      rest.remove_prefix(word.text.size());
    }
  size_t value = rest.empty() ? std::string_view::npos
                              : std::string_view("FBW").find(rest.front());
  if (entry.kind == CommKind::Compute || value == std::string_view::npos)
    return wrong;
  entry.action.kind = static_cast<ActionKind>("FIW"[value]);
  rest.remove_prefix(1);
  if (!takeNumber(rest, entry.action.microbatch))
    return wrong;
  entry.peer = usualPeer(entry.kind, entry.action.kind, entry.action.stage);
  if (!rest.empty()) {
    char arrow = entry.kind == CommKind::Receive ? '<' : '>';
    if (rest.front() != arrow)
      return wrong;
    rest.remove_prefix(1);
    if (!takeNumber(rest, entry.peer) || !rest.empty())
      return wrong;
  }
  if (entry.peer < 0)
    return wrong;
  return entry;
}

Result<CommOrder> parseCommOrder(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  CommOrder order;
  for (size_t number = 0;; ++number) {
    size_t start = text.find_first_not_of(kSpace);
    if (start == std::string_view::npos)
      return order;
    text.remove_prefix(start);
    size_t length = std::min(text.find_first_of(kSpace), text.size());
    std::string_view word = text.substr(0, length);
    text.remove_prefix(length);
    // A computation has no underscore, except in the suffix of a pair.
    if (word.front() != '(' && word.find('_') != std::string_view::npos) {
      Result<CommAction> entry = parseCommunication(word);
      if (!entry)
        return Error{"entry " + std::to_string(number) + ": " +
                     entry.error().message};
      order.push_back(*entry);
      continue;
    }
    Result<Order> actions = parseOrder(word);
    if (!actions)
      return Error{"entry " + std::to_string(number) + ": " +
                   actions.error().message};
    for (const Action &action : *actions)
      order.push_back({CommKind::Compute, action, -1});
  }
}

Schedule withoutCommunication(const CommSchedule &schedule) {
  Schedule result{"compute", schedule.stages, schedule.microbatches, {}};
  for (const CommOrder &order : schedule.ranks) {
    Order &actions = result.ranks.emplace_back();
    actions.reserve(order.size());
    for (const CommAction &entry : order)
      if (entry.kind == CommKind::Compute)
        actions.push_back(entry.action);
  }
  return result;
}

} // namespace stagewright
