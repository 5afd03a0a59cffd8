//===- Messages.cpp - what crosses from rank to rank ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include <algorithm>
#include <map>

namespace stagewright {

Messages::Messages(const Dependences &dependences, const StageGraph &graph)
    : dependences(dependences), microbatches(dependences.numMicrobatches()),
      outOf(graph.stages), into(graph.stages) {
  std::map<std::tuple<ActionKind, int64_t, int64_t>, size_t> known;
  for (const StageEdge &edge : graph.edges) {
    std::tuple name(edge.producer.phase, edge.producer.stage,
                    edge.firstUse.stage);
    auto [entry, isNew] = known.try_emplace(name, classes.size());
    if (isNew) {
      classes.push_back({edge.producer.phase, edge.producer.stage,
                         edge.firstUse.stage, edge.depth});
      outOf[edge.producer.stage].push_back(entry->second);
      into[edge.firstUse.stage].push_back(entry->second);
      for (int64_t m = 0; m < microbatches; ++m) {
        size_t first = dependences.find(edge.firstUse, m);
        messages.push_back({dependences.find(edge.producer, m), first, first});
      }
    }
    int64_t &depth = classes[entry->second].depth;
    if (edge.depth > 0)
      depth = depth > 0 ? std::min(depth, edge.depth) : edge.depth;
    for (int64_t m = 0; m < microbatches; ++m) {
      Message &message = messages[entry->second * microbatches + m];
      message.firstUse =
          std::min(message.firstUse, dependences.find(edge.firstUse, m));
      message.lastUse =
          std::max(message.lastUse, dependences.find(edge.lastUse, m));
    }
  }
}

size_t Messages::find(ActionKind value, int64_t from, int64_t to,
                      int64_t microbatch) const {
  if (from < 0 || from >= int64_t(outOf.size()) || microbatch < 0 ||
      microbatch >= microbatches)
    return size();
  for (size_t k : outOf[from])
    if (classes[k].value == value && classes[k].to == to)
      return k * microbatches + microbatch;
  return size();
}

size_t Messages::find(const CommAction &entry) const {
  const Action &action = entry.action;
  bool receive = entry.kind == CommKind::Receive;
  return find(action.kind, receive ? entry.peer : action.stage,
              receive ? action.stage : entry.peer, action.microbatch);
}

CommAction Messages::entry(CommKind kind, size_t id) const {
  const MessageClass &name = classes[classOf(id)];
  bool receive = kind == CommKind::Receive;
  return {kind,
          {name.value, receive ? name.to : name.from, microbatchOf(id)},
          receive ? name.from : name.to};
}

} // namespace stagewright
