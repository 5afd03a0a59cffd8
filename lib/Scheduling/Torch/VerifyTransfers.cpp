//===- VerifyTransfers.cpp - verify schedules with messages ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks, in this order: the computations alone; each message by itself; that
// none is missing or misplaced; the order of each channel; and, by running all
// ranks, that none waits forever. By then both ends of a channel have the same
// order, and every receive is posted before its use. So a message has arrived
// as soon as its send is posted, and a send is complete as soon as its receive
// is.
//
//===----------------------------------------------------------------------===//

#include "OrderGrid.h"
#include "Torch/Messages.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace stagewright {

namespace {

class Verifier {
public:
  Verifier(const TorchLists &lists, const Dependences &dependences,
           const StageGraph &chain)
      : lists(lists), dependences(dependences), messages(dependences, chain),
        steps(messages.size(), {kNowhere, kNowhere, kNowhere}) {}

  Status enterAll();
  Status checkEntries() const;
  Status checkChannels() const;
  Status run() const;

private:
  static constexpr size_t kNowhere = size_t(-1);

  Status enter(OrderMark mark);
  std::string faultOf(const TorchEntry &entry, int64_t rank, size_t id) const;
  Error errorAbout(const std::string &message,
                   const std::vector<OrderMark> &marks) const;
  Error describe(const std::vector<OrderMark> &next,
                 const std::vector<OrderMark> &awaited) const;
  const TorchEntry &at(OrderMark mark) const {
    return lists.ranks[mark.rank][mark.step];
  }
  std::string textOf(OrderMark mark) const {
    return toString(at(mark)) + " on rank " + std::to_string(mark.rank) +
           " (step " + std::to_string(mark.step) + ")";
  }
  OrderMark markOf(size_t number) const {
    return {dependences.rank(number), stepOf[number]};
  }
  /// The place of the entry of `op` for a message.
  OrderMark markOf(TorchOp op, size_t id) const {
    return {op == TorchOp::Receive ? messages.toRank(id)
                                   : messages.fromRank(id),
            steps[id][size_t(op) - 1]};
  }
  bool isEnd(OrderMark mark) const {
    return mark.step == lists.ranks[mark.rank].size();
  }

  const TorchLists &lists;
  const Dependences &dependences;
  Messages messages;
  std::vector<size_t> stepOf; ///< By number of an action.
  /// By message: steps of its send, receive and wait.
  std::vector<std::array<size_t, 3>> steps;
};

} // namespace

Error Verifier::errorAbout(const std::string &message,
                           const std::vector<OrderMark> &marks) const {
  return {message,
          {drawMarks(
              marks, [&](int64_t rank) { return lists.ranks[rank].size(); },
              [&](int64_t rank, size_t step) {
                return toString(at({rank, step}));
              })}};
}

/// What is wrong with `entry` on `rank` by itself; empty if nothing is.
std::string Verifier::faultOf(const TorchEntry &entry, int64_t rank,
                              size_t id) const {
  if (id == messages.size())
    return ", but of the " + std::to_string(lists.stages) + " stages and " +
           std::to_string(lists.microbatches) +
           " microbatches none has such a message";
  int64_t home = markOf(entry.op, id).rank;
  if (messages.crosses(id) && home == rank)
    return "";
  return messages.crosses(id)
             ? ", but its stage is on rank " + std::to_string(home) +
                   " for this microbatch"
             : ", but both stages are on rank " + std::to_string(home) +
                   " for this microbatch; leave it out";
}

/// Checks one send, receive or wait and records its step.
Status Verifier::enter(OrderMark mark) {
  const TorchEntry &entry = at(mark);
  size_t id = messages.find(entry);
  if (std::string fault = faultOf(entry, mark.rank, id); !fault.empty())
    return errorAbout("the list has " + textOf(mark) + fault, {mark});
  size_t &step = steps[id][size_t(entry.op) - 1];
  OrderMark other{mark.rank, std::exchange(step, mark.step)};
  if (other.step != kNowhere)
    return errorAbout("the list has " + textOf(mark) + " although it has " +
                          textOf(other),
                      {mark, other});
  return {};
}

Status Verifier::enterAll() {
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank)
    for (size_t step = 0; step < lists.ranks[rank].size(); ++step) {
      const TorchEntry &entry = at({rank, step});
      if (entry.op != TorchOp::Compute) {
        if (Status status = enter({rank, step}); !status)
          return status;
        continue;
      }
      // A paired action has a predecessor: verify() of the computations passed.
      if (entry.action.paired && at({rank, step - 1}).op != TorchOp::Compute)
        return errorAbout("a pair is not interrupted, but " +
                              textOf({rank, step - 1}) +
                              " comes between the two; put it before or behind",
                          {{rank, step - 1}});
      stepOf.push_back(step);
    }
  return {};
}

/// Every message has a send, a receive and a wait, in a possible order with the
/// actions that make and use it.
Status Verifier::checkEntries() const {
  for (size_t id = 0; id < messages.size(); ++id) {
    if (!messages.crosses(id))
      continue;
    OrderMark made = markOf(messages.made(id)),
              used = markOf(messages.used(id));
    OrderMark send = markOf(TorchOp::Send, id);
    OrderMark receive = markOf(TorchOp::Receive, id);
    OrderMark wait = markOf(TorchOp::WaitSend, id);
    for (auto [op, mark, near] : {std::tuple(TorchOp::Send, send, made),
                                  std::tuple(TorchOp::Receive, receive, used),
                                  std::tuple(TorchOp::WaitSend, wait, send)})
      if (mark.step == kNowhere)
        return errorAbout("rank " + std::to_string(near.rank) + " lacks " +
                              toString(messages.entry(op, id)) + " for " +
                              textOf(near),
                          {near});
    for (auto [first, second, why] :
         {std::tuple(made, send, ", which makes what it sends"),
          std::tuple(receive, used, ", which it waits for"),
          std::tuple(send, wait, ", which it waits for")})
      if (second.step < first.step)
        return errorAbout(textOf(second) + " comes before " + textOf(first) +
                              why,
                          {first, second});
  }
  return {};
}

/// On every channel the k-th send and the k-th receive are of one message.
Status Verifier::checkChannels() const {
  // By sender and receiver: the messages in the order of either end.
  std::map<std::pair<int64_t, int64_t>, std::array<std::vector<size_t>, 2>>
      channels;
  for (const TorchOrder &list : lists.ranks)
    for (const TorchEntry &entry : list)
      if (entry.op == TorchOp::Send || entry.op == TorchOp::Receive) {
        size_t id = messages.find(entry);
        channels[{messages.fromRank(id), messages.toRank(id)}]
                [entry.op == TorchOp::Receive]
                    .push_back(id);
      }
  for (const auto &[ranks, ends] : channels) {
    auto [a, b] =
        std::mismatch(ends[0].begin(), ends[0].end(), ends[1].begin());
    if (a == ends[0].end())
      continue;
    OrderMark send = markOf(TorchOp::Send, *a);
    OrderMark receive = markOf(TorchOp::Receive, *b);
    return errorAbout("the channel from rank " + std::to_string(send.rank) +
                          " to rank " + std::to_string(receive.rank) +
                          " has two orders: " + textOf(send) + " would meet " +
                          textOf(receive),
                      {send, receive});
  }
  return {};
}

/// Lets every rank run as far as it can, until none advances.
Status Verifier::run() const {
  std::vector<OrderMark> next, awaited(lists.ranks.size());
  std::vector<size_t> numbers; ///< By rank: of its next computation.
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank) {
    next.push_back({rank, 0});
    numbers.push_back(dependences.begin(rank));
  }
  auto canRun = [&](OrderMark mark) {
    const TorchEntry &entry = at(mark);
    bool can = true;
    auto await = [&](TorchOp op, size_t id) {
      OrderMark posted = markOf(op, id);
      if (!can || posted.step < next[posted.rank].step)
        return;
      awaited[mark.rank] = posted;
      can = false;
    };
    if (entry.op == TorchOp::WaitSend)
      await(TorchOp::Receive, messages.find(entry));
    // The first action of a pair has waited for the inputs of both.
    if (entry.op != TorchOp::Compute || entry.action.paired)
      return can;
    size_t number = numbers[mark.rank];
    for (size_t n = number; n < dependences.blockEnd(number); ++n)
      if (size_t id = messages.inputOf(n); id != messages.size())
        await(TorchOp::Send, id);
    return can;
  };
  for (bool advanced = true; std::exchange(advanced, false);)
    for (OrderMark &mark : next)
      for (; !isEnd(mark) && canRun(mark); ++mark.step) {
        numbers[mark.rank] += at(mark).op == TorchOp::Compute;
        advanced = true;
      }
  return std::all_of(next.begin(), next.end(),
                     [&](OrderMark mark) { return isEnd(mark); })
             ? Status()
             : describe(next, awaited);
}

/// Follows waits from rank to rank until a rank repeats, and reports the cycle.
Error Verifier::describe(const std::vector<OrderMark> &next,
                         const std::vector<OrderMark> &awaited) const {
  int64_t rank = 0;
  while (isEnd(next[rank]))
    ++rank;
  std::vector<int64_t> chain;
  auto first = chain.begin();
  while ((first = std::find(chain.begin(), chain.end(), rank)) == chain.end()) {
    chain.push_back(rank);
    rank = awaited[rank].rank;
  }
  std::string message = "communication deadlocks: ";
  std::vector<OrderMark> marks;
  for (auto it = first; it != chain.end(); ++it) {
    message += (it == first ? "" : ", ") + textOf(next[*it]) + " waits for " +
               textOf(awaited[*it]);
    marks.insert(marks.end(), {next[*it], awaited[*it]});
  }
  return errorAbout(message, marks);
}

Status verify(const TorchLists &lists) {
  Schedule computations = computationsOf(lists);
  StageGraph chain = chainOf(computations);
  if (Status status = verify(computations, chain); !status)
    return status;
  Result<Dependences> dependences = Dependences::create(computations, chain);
  if (!dependences)
    return dependences.error();
  Verifier verifier(lists, *dependences, chain);
  if (Status status = verifier.enterAll(); !status)
    return status;
  for (auto check :
       {&Verifier::checkEntries, &Verifier::checkChannels, &Verifier::run})
    if (Status status = (verifier.*check)(); !status)
      return status;
  return {};
}

} // namespace stagewright
