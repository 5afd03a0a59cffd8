//===- Receives.cpp - when receives are posted ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Receives.h"
#include <algorithm>
#include <map>
#include <queue>

namespace stagewright {

Receives::Receives(const StageGraph &graph, const Dependences &dependences,
                   const CommOptions &options)
    : messages(dependences, graph) {
  findBlocks(dependences);
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
  findRoutes(std::max<int64_t>(1, options.receiveBuffers));
}

void Receives::findBlocks(const Dependences &dependences) {
  blocks.resize(dependences.size());
  for (int64_t rank = 0; rank < dependences.numRanks(); ++rank) {
    size_t block = 0, end = dependences.begin(rank + 1);
    for (size_t n = dependences.begin(rank); n < end; ++block)
      for (size_t last = dependences.blockEnd(n); n < last; ++n)
        blocks[n] = block;
  }
}

/// Finds the channels and the routes of each.
void Receives::findRoutes(int64_t receiveBuffers) {
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
    route.buffers = route.stated ? name.depth : receiveBuffers;
  }
  postAt.assign(sent.size(), 0);
}

/// Posts the receives of `channel` as early as their buffers allow. If a
/// receive is then later than the first use, returns the route with too few
/// buffers; otherwise routes.size().
size_t Receives::tryPlace(const Stretch &channel) {
  using Ends =
      std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>>;
  std::map<size_t, Ends> held; // By route: blocks after last uses.
  size_t at = 0, limit = routes.size();
  for (size_t i = channel.begin; i < channel.end; ++i) {
    const Message &message = messages[sent[i]];
    Ends &ends = held[routeOf[i]];
    if (int64_t(ends.size()) >= routes[routeOf[i]].buffers) {
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

Status Receives::place() {
  const std::vector<Route> stated = routes;
  for (const Stretch &channel : channels)
    for (size_t limit = 0; limit != routes.size();)
      if (limit = tryPlace(channel); limit != routes.size())
        ++routes[limit].buffers;
  for (size_t i = 0; i < routes.size(); ++i) {
    const Route &route = routes[i];
    if (!route.stated || route.buffers == stated[i].buffers)
      continue;
    return Error{"rank " + std::to_string(route.toRank) + " has room for " +
                 std::to_string(stated[i].buffers) +
                 " microbatches of what phase " +
                 static_cast<char>(route.value) + " of stage " +
                 std::to_string(route.fromStage) + " on rank " +
                 std::to_string(route.fromRank) + " sends to stage " +
                 std::to_string(route.toStage) +
                 ", too few to receive each before its use in the order of the "
                 "sends; a depth of " +
                 std::to_string(route.buffers) + " would do"};
  }
  return {};
}

} // namespace stagewright
