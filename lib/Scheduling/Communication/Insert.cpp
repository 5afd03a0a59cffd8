//===- Insert.cpp - sends, receives and waits for an order ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Why the result finishes: posts never stop a rank, so without waits for sends
// the ranks wait for each other just as the computations do, and those finish.
// A receive is posted before its first use by construction. Only the waits for
// sends can close a circle, over a receive that is posted late; they are put
// off until no rank waits for ever, at the latest to the end.
//
//===----------------------------------------------------------------------===//

#include "CommVerifier.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>
#include <map>
#include <queue>

namespace stagewright {

namespace {

class Inserter {
public:
  Inserter(const Schedule &schedule, const StageGraph &graph,
           const Dependences &dependences, const CommOptions &options);

  Status placeReceives();
  CommPlan plan(int64_t sendBuffers) const;

private:
  struct Route : CommRoute {
    bool stated = false; ///< Its buffers are an edge's depth.
    int64_t needed = 0;  ///< Buffers that the order needs.
  };
  /// Where a communication stands: before a block, or behind it.
  enum class Place { Receive, Wait, Send };
  struct Put {
    size_t block; ///< kEnd: behind the last.
    Place place;
    size_t order;   ///< Among those of one place.
    size_t message; ///< Its place in `sent`.

    friend auto operator<=>(const Put &, const Put &) = default;
  };
  static constexpr size_t kEnd = size_t(-1);
  /// Messages [begin, end) of `sent`.
  struct Stretch {
    size_t begin = 0, end = 0;
  };

  void findBlocks();
  void findRoutes();
  size_t place(const Stretch &channel);
  Status checkStated() const;
  void putChannel(const Stretch &channel, int64_t sendBuffers,
                  std::vector<std::vector<Put>> &puts) const;
  CommOrder listOf(int64_t rank, std::vector<Put> puts) const;

  const Schedule &schedule;
  const Dependences &dependences;
  const CommOptions options;
  Messages messages;
  std::vector<size_t> blocks; ///< By action: its block, from 0 on its rank.
  std::vector<size_t> sent; ///< Messages that cross, channel by channel, in the
                            ///< order of the sends.
  std::vector<Stretch> channels;
  std::vector<Route> routes;
  std::vector<size_t> routeOf, postAt; ///< By place in `sent`.
};

} // namespace

Inserter::Inserter(const Schedule &schedule, const StageGraph &graph,
                   const Dependences &dependences, const CommOptions &options)
    : schedule(schedule), dependences(dependences), options(options),
      messages(dependences, graph) {
  findBlocks();
  for (size_t id = 0; id < messages.size(); ++id)
    if (messages.crosses(id))
      sent.push_back(id);
  std::sort(sent.begin(), sent.end(), [&](size_t a, size_t b) {
    auto key = [&](size_t id) {
      return std::tuple(messages.fromRank(id), messages.toRank(id),
                        messages[id].made, messages[id].firstUse, id);
    };
    return key(a) < key(b);
  });
  findRoutes();
}

void Inserter::findBlocks() {
  blocks.resize(dependences.size());
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank) {
    size_t block = 0, end = dependences.begin(rank + 1);
    for (size_t n = dependences.begin(rank); n < end; ++block)
      for (size_t last = dependences.blockEnd(n); n < last; ++n)
        blocks[n] = block;
  }
}

/// Finds the channels, and their routes.
void Inserter::findRoutes() {
  std::map<std::tuple<int64_t, int64_t, size_t>, size_t> known;
  for (size_t i = 0; i < sent.size(); ++i) {
    size_t id = sent[i], k = messages.classOf(id);
    int64_t from = messages.fromRank(id), to = messages.toRank(id);
    if (i == 0 || messages.fromRank(sent[i - 1]) != from ||
        messages.toRank(sent[i - 1]) != to)
      channels.push_back({i, i});
    channels.back().end = i + 1;
    auto [entry, isNew] = known.try_emplace({from, to, k}, routes.size());
    routeOf.push_back(entry->second);
    if (!isNew)
      continue;
    const MessageClass &name = messages.classNumber(k);
    Route &route = routes.emplace_back();
    route.value = name.value;
    route.fromStage = name.from;
    route.toStage = name.to;
    route.fromRank = from;
    route.toRank = to;
    route.stated = name.depth > 0;
    route.buffers = route.needed =
        route.stated ? name.depth
                     : std::max<int64_t>(1, options.receiveBuffers);
  }
  postAt.assign(sent.size(), 0);
}

/// Posts the receives of `channel` as early as their buffers allow. Returns the
/// route that makes one too late for its first use, or routes.size().
size_t Inserter::place(const Stretch &channel) {
  using Ends =
      std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>>;
  std::map<size_t, Ends> held; // By route: the blocks behind the last uses.
  size_t at = 0, limit = routes.size();
  for (size_t i = channel.begin; i < channel.end; ++i) {
    const Message &message = messages[sent[i]];
    Ends &ends = held[routeOf[i]];
    if (int64_t(ends.size()) >= routes[routeOf[i]].needed) {
      if (ends.top() > at) {
        at = ends.top();
        limit = routeOf[i];
      }
      ends.pop();
    }
    if (at > blocks[message.firstUse])
      return limit;
    ends.push(blocks[message.lastUse] + 1);
    postAt[i] = at;
  }
  return routes.size();
}

Status Inserter::placeReceives() {
  for (const Stretch &channel : channels)
    for (size_t limit = 0; limit != routes.size();)
      if (limit = place(channel); limit != routes.size())
        ++routes[limit].needed;
  if (Status status = checkStated(); !status)
    return status;
  for (Route &route : routes)
    route.buffers = route.needed;
  return {};
}

Status Inserter::checkStated() const {
  for (const Route &route : routes)
    if (route.stated && route.needed > route.buffers)
      return Error{"rank " + std::to_string(route.toRank) + " has room for " +
                   std::to_string(route.buffers) +
                   " microbatches of what phase " +
                   static_cast<char>(route.value) + " of stage " +
                   std::to_string(route.fromStage) + " on rank " +
                   std::to_string(route.fromRank) + " sends to stage " +
                   std::to_string(route.toStage) +
                   ", too few to receive each before its use in the order of "
                   "the sends; a depth of " +
                   std::to_string(route.needed) + " would do"};
  return {};
}

/// Where the communication of `channel` stands, for both of its ranks.
void Inserter::putChannel(const Stretch &channel, int64_t sendBuffers,
                          std::vector<std::vector<Put>> &puts) const {
  std::vector<Put> &from = puts[messages.fromRank(sent[channel.begin])];
  std::vector<Put> &to = puts[messages.toRank(sent[channel.begin])];
  std::map<size_t, std::vector<size_t>> unwaited; // By route, places in order.
  size_t wanted = 0;
  for (size_t i = channel.begin; i < channel.end; ++i) {
    const Message &message = messages[sent[i]];
    size_t made = blocks[message.made];
    // Among receives of one place, those of other channels too, the first
    // wanted comes first; along a channel the order stays.
    wanted = std::max(wanted, message.firstUse);
    to.push_back({postAt[i], Place::Receive, wanted, i});
    from.push_back({made, Place::Send, message.made, i});
    std::vector<size_t> &route = unwaited[routeOf[i]];
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

/// The list of `rank` from what is put among its computations.
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
                         sent[put->message]));
  };
  for (size_t n = dependences.begin(rank); n < dependences.begin(rank + 1);) {
    size_t block = blocks[n];
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
  for (const Stretch &channel : channels) {
    putChannel(channel, sendBuffers, puts);
    pairs.push_back({messages.fromRank(sent[channel.begin]),
                     messages.toRank(sent[channel.begin])});
  }
  for (size_t rank = 0; rank < puts.size(); ++rank)
    result.schedule.ranks.push_back(listOf(rank, std::move(puts[rank])));
  for (const Route &route : routes)
    result.routes.push_back(route);
  result.channels = channelsOf(std::move(pairs));
  return result;
}

Result<CommPlan> insertCommunication(const Schedule &schedule,
                                     const StageGraph &graph,
                                     const CommOptions &options) {
  StageGraph endless = graph; // Depths bind the receives, not the makers.
  for (StageEdge &edge : endless.edges)
    edge.depth = 0;
  if (Status status = verify(schedule, endless); !status)
    return status.error();
  Result<Dependences> dependences = Dependences::create(schedule, endless);
  if (!dependences)
    return dependences.error();
  Inserter inserter(schedule, graph, *dependences, options);
  if (Status status = inserter.placeReceives(); !status)
    return status.error();
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
