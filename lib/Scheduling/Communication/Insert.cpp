//===- Insert.cpp - sends, receives and waits for an order ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Why the result finishes: posts never block a rank, so without waits for sends
// the ranks wait only as the computations do, and those finish. A receive is
// posted before its first use by construction. Only waits for sends can close a
// cycle, through a receive that is posted late; more send buffers delay them
// until the ranks finish, in the worst case to the end of the lists.
//
//===----------------------------------------------------------------------===//

#include "CommVerifier.h"
#include "Receives.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>
#include <map>

namespace stagewright {

namespace {

/// The second half of the insertion (the first is Receives.h): sends, waits,
/// lists.
class Inserter {
public:
  Inserter(const Schedule &schedule, const Dependences &dependences,
           const Receives &receives)
      : schedule(schedule), dependences(dependences), receives(receives),
        messages(receives.messages) {}

  CommPlan plan(int64_t sendBuffers) const;

private:
  /// Position of a communication: before its block, or after it (sends).
  enum class Place { Receive, Wait, Send };
  struct Put {
    size_t block; ///< kEnd: after the last.
    Place place;
    size_t order;   ///< Sort key within a place.
    size_t message; ///< Its index in `sent`.

    friend auto operator<=>(const Put &, const Put &) = default;
  };
  static constexpr size_t kEnd = size_t(-1);

  void putChannel(const Receives::Stretch &channel, int64_t sendBuffers,
                  std::vector<std::vector<Put>> &puts) const;
  CommOrder listOf(int64_t rank, std::vector<Put> puts) const;

  const Schedule &schedule;
  const Dependences &dependences;
  const Receives &receives;
  const Messages &messages;
};

} // namespace

/// Adds the communication of `channel` to the lists of both its ranks.
void Inserter::putChannel(const Receives::Stretch &channel, int64_t sendBuffers,
                          std::vector<std::vector<Put>> &puts) const {
  const std::vector<size_t> &sent = receives.sent;
  std::vector<Put> &from = puts[messages.fromRank(sent[channel.begin])];
  std::vector<Put> &to = puts[messages.toRank(sent[channel.begin])];
  std::map<size_t, std::vector<size_t>> unwaited; // By route, places in order.
  size_t wanted = 0;
  for (size_t i = channel.begin; i < channel.end; ++i) {
    const Message &message = messages[sent[i]];
    size_t made = receives.blocks[message.made];
    // Receives at one place, also of other channels, are sorted by first use;
    // those of one channel keep their order.
    wanted = std::max(wanted, message.firstUse);
    to.push_back({receives.postAt[i], Place::Receive, wanted, i});
    from.push_back({made, Place::Send, message.made, i});
    std::vector<size_t> &route = unwaited[receives.routeOf[i]];
    if (int64_t(route.size()) >= sendBuffers)
      from.push_back({made, Place::Wait, i, route[route.size() - sendBuffers]});
    route.push_back(i);
  }
  for (const auto &[number, route] : unwaited)
    for (size_t i = route.size() - std::min<size_t>(route.size(), sendBuffers);
         i < route.size(); ++i)
      from.push_back(
          {kEnd, Place::Wait, messages[sent[route[i]]].made, route[i]});
}

/// The list of `rank`: its computations, with `puts` between them.
CommOrder Inserter::listOf(int64_t rank, std::vector<Put> puts) const {
  std::sort(puts.begin(), puts.end());
  CommOrder order;
  auto put = puts.begin();
  auto take = [&](size_t block, Place last) {
    for (; put != puts.end() && put->block == block && put->place <= last;
         ++put)
      order.push_back(
          messages.entry(put->place == Place::Receive ? CommKind::Receive
                         : put->place == Place::Wait  ? CommKind::WaitSend
                                                      : CommKind::Send,
                         receives.sent[put->message]));
  };
  for (size_t n = dependences.begin(rank); n < dependences.begin(rank + 1);) {
    size_t block = receives.blocks[n];
    take(block, Place::Wait);
    for (size_t end = dependences.blockEnd(n); n < end; ++n)
      order.push_back({CommKind::Compute, dependences.action(n), -1});
    take(block, Place::Send);
  }
  take(kEnd, Place::Wait);
  return order;
}

CommPlan Inserter::plan(int64_t sendBuffers) const {
  CommPlan result;
  result.sendBuffers = sendBuffers;
  result.schedule = {schedule.stages, schedule.microbatches, {}};
  std::vector<std::vector<Put>> puts(schedule.ranks.size());
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const Receives::Stretch &channel : receives.channels) {
    putChannel(channel, sendBuffers, puts);
    pairs.push_back({messages.fromRank(receives.sent[channel.begin]),
                     messages.toRank(receives.sent[channel.begin])});
  }
  for (size_t rank = 0; rank < puts.size(); ++rank)
    result.schedule.ranks.push_back(listOf(rank, std::move(puts[rank])));
  for (const Receives::Route &route : receives.routes)
    result.routes.push_back(route);
  result.channels = channelsOf(std::move(pairs));
  return result;
}

Result<CommPlan> insertCommunication(const Schedule &schedule,
                                     const StageGraph &graph,
                                     const CommOptions &options) {
  StageGraph endless = graph; // Depths limit only the receives.
  for (StageEdge &edge : endless.edges)
    edge.depth = 0;
  if (Status status = verify(schedule, endless); !status)
    return status.error();
  Result<Dependences> dependences = Dependences::create(schedule, endless);
  if (!dependences)
    return dependences.error();
  Receives receives(graph, *dependences, options);
  if (Status status = receives.place(); !status)
    return status.error();
  Inserter inserter(schedule, *dependences, receives);
  for (int64_t sendBuffers = std::max<int64_t>(1, options.sendBuffers);;
       sendBuffers *= 2) {
    bool all = sendBuffers >= schedule.microbatches;
    CommPlan plan = inserter.plan(std::min(sendBuffers, schedule.microbatches));
    Status status = CommVerifier(plan.schedule, graph, *dependences).run();
    if (status)
      return plan;
    if (all)
      return status.error();
  }
}

} // namespace stagewright
