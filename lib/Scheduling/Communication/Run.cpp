//===- Run.cpp - checking communication for deadlocks ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By the earlier checks both ends of a channel have the same order, and every
// receive is posted before its use. So a message has arrived as soon as its
// send is posted, and a send is complete as soon as its receive is posted.
//
//===----------------------------------------------------------------------===//

#include "CommVerifier.h"
#include "stagewright/Scheduling/Verify.h"

namespace stagewright {

class CommVerifier::Run {
public:
  explicit Run(const CommVerifier &lists)
      : lists(lists), next(lists.schedule.ranks.size(), 0), stops(next.size()),
        sent(lists.messages.size(), false), received(sent.size(), false) {
    for (size_t rank = 0; rank < next.size(); ++rank)
      number.push_back(lists.dependences.begin(rank));
  }

  Status finish();

private:
  Stop stopOf(const CommAction &entry, size_t number) const;
  void step(size_t rank);
  void wake(size_t id, int64_t rank, CommKind posted);
  bool stands(size_t rank) const {
    return next[rank] < lists.schedule.ranks[rank].size();
  }
  Error describe() const;

  const CommVerifier &lists;
  std::vector<size_t> next;   ///< By rank: its next step.
  std::vector<size_t> number; ///< By rank: number of its next computation.
  std::vector<Stop> stops;    ///< By rank: what it waits for.
  std::vector<char> sent, received;
  std::vector<size_t> awake;
};

/// What `entry` still waits for; `number` is its action, if it is a
/// computation.
CommVerifier::Stop CommVerifier::Run::stopOf(const CommAction &entry,
                                             size_t number) const {
  Stop stop;
  if (entry.kind == CommKind::WaitSend) {
    size_t id = lists.messages.find(entry);
    return received[id] ? stop : Stop{id, CommKind::Receive};
  }
  if (entry.kind != CommKind::Compute)
    return stop;
  for (size_t n = number; n < lists.dependences.blockEnd(number); ++n)
    lists.messages.visitFirst(n, [&](size_t id) {
      if (!sent[id])
        stop = {id, CommKind::Send};
    });
  return stop;
}

void CommVerifier::Run::wake(size_t id, int64_t rank, CommKind posted) {
  if (stops[rank].message == id && stops[rank].wants == posted) {
    stops[rank] = {};
    awake.push_back(rank);
  }
}

/// Lets `rank` run as far as it can.
void CommVerifier::Run::step(size_t rank) {
  const CommOrder &order = lists.schedule.ranks[rank];
  for (; next[rank] < order.size(); ++next[rank]) {
    const CommAction &entry = order[next[rank]];
    // The first action of a pair has waited for the inputs of both.
    bool waits = entry.kind != CommKind::Compute || !entry.action.paired;
    if (waits)
      stops[rank] = stopOf(entry, number[rank]);
    if (stops[rank].message != kNowhere)
      return;
    if (entry.kind == CommKind::Compute) {
      ++number[rank];
      continue;
    }
    size_t id = lists.messages.find(entry);
    if (entry.kind == CommKind::Send) {
      sent[id] = true;
      wake(id, lists.messages.toRank(id), CommKind::Send);
    } else if (entry.kind == CommKind::Receive) {
      received[id] = true;
      wake(id, lists.messages.fromRank(id), CommKind::Receive);
    }
  }
}

Status CommVerifier::Run::finish() {
  for (size_t rank = next.size(); rank-- > 0;)
    awake.push_back(rank);
  while (!awake.empty()) {
    size_t rank = awake.back();
    awake.pop_back();
    step(rank);
  }
  for (size_t rank = 0; rank < next.size(); ++rank)
    if (stands(rank))
      return describe();
  return {};
}

/// Follows waits from rank to rank until a rank repeats, and reports the cycle.
Error CommVerifier::Run::describe() const {
  int64_t rank = 0;
  while (!stands(rank))
    ++rank;
  std::vector<int64_t> seenAt(next.size(), -1);
  std::vector<std::string> chain;
  std::vector<OrderMark> marks;
  while (seenAt[rank] < 0) {
    seenAt[rank] = int64_t(chain.size());
    auto [id, wants] = stops[rank];
    bool send = wants == CommKind::Send;
    int64_t other =
        send ? lists.messages.fromRank(id) : lists.messages.toRank(id);
    OrderMark missing{other, (send ? lists.sends : lists.receives)[id]};
    OrderMark here{rank, next[rank]};
    chain.push_back(lists.textOf(here) + " waits for " + lists.textOf(missing));
    marks.push_back(here);
    marks.push_back(missing);
    rank = other;
  }
  std::string message = "communication deadlocks: ";
  for (size_t i = seenAt[rank]; i < chain.size(); ++i)
    message += (i == size_t(seenAt[rank]) ? "" : ", ") + chain[i];
  marks.erase(marks.begin(), marks.begin() + 2 * seenAt[rank]);
  return lists.errorAbout(message, marks);
}

Status CommVerifier::runRanks() const { return Run(*this).finish(); }

Status CommVerifier::run() {
  if (Status status = enterAll(); !status)
    return status;
  for (auto check : {&CommVerifier::checkEntries, &CommVerifier::checkChannels,
                     &CommVerifier::checkBuffers, &CommVerifier::runRanks})
    if (Status status = (this->*check)(); !status)
      return status;
  return {};
}

} // namespace stagewright
