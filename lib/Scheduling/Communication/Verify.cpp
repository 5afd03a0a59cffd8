//===- Verify.cpp - verify schedules with communication -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks, in this order: the computations alone; each entry by itself; that no
// entry is missing or misplaced; the order of each channel; the buffers; and,
// by running all ranks, that none waits forever.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Verify.h"
#include "CommVerifier.h"
#include <algorithm>
#include <map>

namespace stagewright {

Error CommVerifier::errorAbout(const std::string &message,
                               const std::vector<OrderMark> &marks) const {
  return {message,
          {drawMarks(
              marks, [&](int64_t rank) { return schedule.ranks[rank].size(); },
              [&](int64_t rank, size_t step) {
                return toString(schedule.ranks[rank][step]);
              })}};
}

std::string CommVerifier::textOf(OrderMark mark) const {
  return toString(schedule.ranks[mark.rank][mark.step]) + " on rank " +
         std::to_string(mark.rank) + " (step " + std::to_string(mark.step) +
         ")";
}

/// What is wrong with `entry` on `rank` by itself; empty if nothing is.
std::string CommVerifier::faultOf(const CommAction &entry, int64_t rank,
                                  size_t id) const {
  bool receive = entry.kind == CommKind::Receive;
  int64_t from = receive ? entry.peer : entry.action.stage;
  int64_t to = receive ? entry.action.stage : entry.peer;
  if (id == messages.size())
    return ", but of the " + std::to_string(schedule.stages) + " stages and " +
           std::to_string(schedule.microbatches) + " microbatches stage " +
           std::to_string(from) + " sends nothing such to stage " +
           std::to_string(to);
  int64_t home = receive ? messages.toRank(id) : messages.fromRank(id);
  if (!messages.crosses(id))
    return ", but both stages are on rank " + std::to_string(home) +
           " for this microbatch; leave it out";
  if (home != rank)
    return ", but its stage is on rank " + std::to_string(home) +
           " for this microbatch";
  return "";
}

/// Checks one communication and records its step.
Status CommVerifier::enter(OrderMark mark) {
  const CommAction &entry = schedule.ranks[mark.rank][mark.step];
  size_t id = messages.find(entry);
  if (std::string fault = faultOf(entry, mark.rank, id); !fault.empty())
    return errorAbout("the list has " + textOf(mark) + fault, {mark});
  size_t &place = placeOf(entry.kind, id);
  if (place != kNowhere)
    return errorAbout("the list has " + textOf(mark) + " although it has " +
                          textOf({mark.rank, place}),
                      {mark, {mark.rank, place}});
  place = mark.step;
  return {};
}

Status CommVerifier::enterAll() {
  stepOf.reserve(dependences.size());
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank) {
    const CommOrder &order = schedule.ranks[rank];
    for (size_t step = 0; step < order.size(); ++step) {
      if (order[step].kind != CommKind::Compute) {
        if (Status status = enter({rank, step}); !status)
          return status;
        continue;
      }
      // A paired action has a predecessor: verify() of the computations passed.
      if (order[step].action.paired &&
          order[step - 1].kind != CommKind::Compute)
        return errorAbout("a pair is not interrupted, but " +
                              textOf({rank, step - 1}) +
                              " comes between the two; put it before or behind",
                          {{rank, step - 1}});
      stepOf.push_back(step);
    }
  }
  return {};
}

/// Every message has a send, a receive and a wait, in a possible order with the
/// actions that make and use it.
Status CommVerifier::checkEntries() const {
  for (size_t id = 0; id < messages.size(); ++id) {
    if (!messages.crosses(id))
      continue;
    OrderMark made = markOf(messages[id].made);
    OrderMark used = markOf(messages[id].firstUse);
    OrderMark send{made.rank, sends[id]}, wait{made.rank, waits[id]};
    OrderMark receive{used.rank, receives[id]};
    auto lacks = [&](CommKind kind, OrderMark near) {
      return errorAbout("rank " + std::to_string(near.rank) + " lacks " +
                            toString(messages.entry(kind, id)) + " for " +
                            textOf(near),
                        {near});
    };
    if (send.step == kNowhere)
      return lacks(CommKind::Send, made);
    if (receive.step == kNowhere)
      return lacks(CommKind::Receive, used);
    if (wait.step == kNowhere)
      return lacks(CommKind::WaitSend, send);
    auto late = [&](OrderMark first, OrderMark second, const char *why) {
      return errorAbout(textOf(second) + " comes before " + textOf(first) + why,
                        {first, second});
    };
    if (send.step < made.step)
      return late(made, send, ", which makes what it sends");
    if (used.step < receive.step)
      return late(receive, used, ", which it waits for");
    if (wait.step < send.step)
      return late(send, wait, ", which it waits for");
  }
  return {};
}

/// On every channel the k-th send and the k-th receive are of one message.
Status CommVerifier::checkChannels() const {
  struct Ends {
    std::vector<size_t> sent, received;
  };
  std::map<std::pair<int64_t, int64_t>, Ends> channels; // Sender, receiver.
  for (const CommOrder &order : schedule.ranks)
    for (const CommAction &entry : order) {
      if (entry.kind != CommKind::Send && entry.kind != CommKind::Receive)
        continue;
      size_t id = messages.find(entry);
      Ends &ends = channels[{messages.fromRank(id), messages.toRank(id)}];
      (entry.kind == CommKind::Send ? ends.sent : ends.received).push_back(id);
    }
  for (const auto &[ranks, ends] : channels) {
    auto [a, b] = std::mismatch(ends.sent.begin(), ends.sent.end(),
                                ends.received.begin());
    if (a == ends.sent.end())
      continue;
    OrderMark send{ranks.first, sends[*a]}, receive{ranks.second, receives[*b]};
    return errorAbout("the channel from rank " + std::to_string(send.rank) +
                          " to rank " + std::to_string(receive.rank) +
                          " has two orders: " + textOf(send) + " would meet " +
                          textOf(receive),
                      {send, receive});
  }
  return {};
}

/// No rank holds more messages of a class from one sender than the depth of its
/// edges.
Status CommVerifier::checkBuffers() const {
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank) {
    std::map<std::pair<size_t, int64_t>, int64_t> held; // Class, sender.
    size_t number = dependences.begin(rank);
    for (size_t step = 0; step < schedule.ranks[rank].size(); ++step) {
      const CommAction &entry = schedule.ranks[rank][step];
      if (entry.kind == CommKind::Compute) {
        messages.visitLast(number++, [&](size_t id) {
          --held[{messages.classOf(id), messages.fromRank(id)}];
        });
        continue;
      }
      if (entry.kind != CommKind::Receive)
        continue;
      size_t id = messages.find(entry);
      const MessageClass &name = messages.classNumber(messages.classOf(id));
      int64_t now = ++held[{messages.classOf(id), messages.fromRank(id)}];
      if (name.depth > 0 && now > name.depth)
        return errorAbout(textOf({rank, step}) + " would be number " +
                              std::to_string(now) + " of " +
                              std::to_string(name.depth) +
                              " that there is room for; post it behind the "
                              "last use of an earlier one",
                          {{rank, step}});
    }
  }
  return {};
}

Status verify(const CommSchedule &schedule, const StageGraph &graph) {
  StageGraph endless = graph; // Depths limit receives, not actions.
  for (StageEdge &edge : endless.edges)
    edge.depth = 0;
  Schedule compute = withoutCommunication(schedule);
  if (Status status = verify(compute, endless); !status)
    return status;
  Result<Dependences> dependences = Dependences::create(compute, endless);
  if (!dependences)
    return dependences.error();
  return CommVerifier(schedule, graph, *dependences).run();
}

} // namespace stagewright
