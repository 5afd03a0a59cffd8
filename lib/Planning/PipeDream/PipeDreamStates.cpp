//===- PipeDreamStates.cpp - augmented antichains of a graph --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An antichain is a set of nodes none of which comes before another. It stands
// for its nodes and all nodes before them. An augmented antichain also has the
// nodes before it that feed nodes after it: a cut there sends the outputs of
// all nodes of the augmented antichain.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PipeDream.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <map>

namespace stagewright {

namespace {
using Set = std::vector<bool>;
using Antichain = std::vector<size_t>; ///< Increasing.

class Antichains {
public:
  explicit Antichains(std::vector<PipeDreamNode> graph)
      : nodes(std::move(graph)), before(nodes.size(), Set(nodes.size())) {
    joinEnds();
    sumBefore();
  }

  Result<std::vector<PipeDreamState>> states(size_t limit) const;

private:
  void joinEnds();
  void sumBefore();
  Antichain augment(const Antichain &antichain) const;
  std::vector<Antichain> next(const Antichain &antichain) const;
  /// Those of `members` that come before no other member.
  Antichain maximal(std::vector<size_t> members) const;
  PipeDreamState stateOf(const Antichain &antichain) const;
  /// Number of its nodes and those before them.
  size_t sizeOf(const Antichain &antichain) const;
  /// The states of `found` in topological order; `from`: by antichain, those
  /// directly before it.
  std::vector<PipeDreamState>
  sorted(const std::vector<Antichain> &found,
         const std::vector<std::vector<size_t>> &from) const;

  std::vector<PipeDreamNode> nodes;
  std::vector<Set> before; ///< [a][b]: b comes before a.
  std::vector<std::vector<size_t>> predecessors;
  size_t real = 0; ///< Number of the caller's nodes; added ones follow.
  size_t source = 0;
  bool joinedSources = false, joinedSinks = false;
};
} // namespace

/// Adds a source of no cost if there are several sources; likewise a sink.
void Antichains::joinEnds() {
  real = nodes.size();
  std::vector<size_t> sources, sinks;
  std::vector<bool> fed(real, false);
  for (const PipeDreamNode &node : nodes)
    for (size_t to : node.successors)
      fed[to] = true;
  for (size_t i = 0; i < real; ++i) {
    if (!fed[i])
      sources.push_back(i);
    if (nodes[i].successors.empty())
      sinks.push_back(i);
  }
  source = sources.front();
  joinedSources = sources.size() > 1;
  joinedSinks = sinks.size() > 1;
  if (joinedSources) {
    source = nodes.size();
    nodes.push_back({0, 0, 0, sources});
  }
  if (joinedSinks) {
    for (size_t sink : sinks)
      nodes[sink].successors.push_back(nodes.size());
    nodes.push_back({});
  }
}

void Antichains::sumBefore() {
  size_t count = nodes.size();
  before.assign(count, Set(count, false));
  predecessors.assign(count, {});
  Successors next;
  for (size_t i = 0; i < count; ++i)
    for (size_t to : next.emplace_back(nodes[i].successors))
      predecessors[to].push_back(i);
  for (size_t node : topologicalOrder(next))
    for (size_t to : next[node]) {
      for (size_t i = 0; i < count; ++i)
        if (before[node][i])
          before[to][i] = true;
      before[to][node] = true;
    }
}

Antichain Antichains::augment(const Antichain &antichain) const {
  Antichain result = antichain;
  for (size_t member : antichain)
    for (size_t node = 0; node < nodes.size(); ++node) {
      if (!before[member][node])
        continue;
      bool feedsOthers = std::any_of(
          nodes[node].successors.begin(), nodes[node].successors.end(),
          [&](size_t to) { return to != member && !before[member][to]; });
      if (feedsOthers)
        result.push_back(node);
    }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Antichain Antichains::maximal(std::vector<size_t> members) const {
  Antichain result;
  for (size_t node : members)
    if (std::none_of(members.begin(), members.end(),
                     [&](size_t other) { return before[other][node]; }))
      result.push_back(node);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<Antichain> Antichains::next(const Antichain &antichain) const {
  std::vector<Antichain> result;
  Antichain augmented = augment(antichain);
  for (size_t i = 0; i < augmented.size(); ++i)
    for (size_t to : nodes[augmented[i]].successors) {
      bool reached = std::binary_search(antichain.begin(), antichain.end(), to);
      for (size_t member : augmented)
        reached |= before[member][to];
      if (reached)
        continue;
      std::vector<size_t> members = augmented;
      members[i] = to;
      result.push_back(maximal(std::move(members)));
    }
  return result;
}

PipeDreamState Antichains::stateOf(const Antichain &antichain) const {
  PipeDreamState state;
  Antichain augmented = augment(antichain);
  for (size_t node : augmented)
    state.outputBytes += nodes[node].outputBytes;
  for (size_t node = 0; node < real; ++node) {
    bool inside =
        std::any_of(augmented.begin(), augmented.end(), [&](size_t member) {
          return member == node || before[member][node];
        });
    if (!inside)
      continue;
    state.nodes.push_back(node);
    state.seconds += nodes[node].seconds;
    state.parameterBytes += nodes[node].parameterBytes;
    state.activationBytes += nodes[node].outputBytes;
  }
  return state;
}

size_t Antichains::sizeOf(const Antichain &antichain) const {
  size_t size = 0;
  for (size_t node = 0; node < nodes.size(); ++node)
    size += std::any_of(antichain.begin(), antichain.end(), [&](size_t member) {
      return member == node || before[member][node];
    });
  return size;
}

std::vector<PipeDreamState>
Antichains::sorted(const std::vector<Antichain> &found,
                   const std::vector<std::vector<size_t>> &from) const {
  // Later antichains stand for more nodes. An added source or sink is not a
  // cut.
  std::vector<std::pair<size_t, size_t>> order; ///< Size, number.
  for (size_t i = 0; i < found.size(); ++i)
    order.emplace_back(sizeOf(found[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<size_t> place(found.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i].second] = i;

  std::vector<PipeDreamState> result;
  std::vector<Set> earlier(found.size(), Set(found.size(), false));
  size_t begin = joinedSources, end = order.size() - joinedSinks;
  for (size_t i = begin; i < end; ++i) {
    for (size_t other : from[order[i].second]) {
      size_t at = place[other];
      earlier[i][at] = true;
      for (size_t k = 0; k < at; ++k)
        if (earlier[at][k])
          earlier[i][k] = true;
    }
    result.push_back(stateOf(found[order[i].second]));
    for (size_t k = begin; k < i; ++k)
      if (earlier[i][k])
        result.back().predecessors.push_back(k - begin);
  }
  return result;
}

Result<std::vector<PipeDreamState>> Antichains::states(size_t limit) const {
  std::map<Antichain, size_t> number;
  std::vector<Antichain> found = {{source}};
  std::vector<std::vector<size_t>> from(1);
  number[found[0]] = 0;
  for (size_t at = 0; at < found.size(); ++at)
    for (Antichain &antichain : next(Antichain(found[at]))) {
      auto [entry, isNew] = number.try_emplace(antichain, found.size());
      if (isNew) {
        found.push_back(std::move(antichain));
        from.emplace_back();
      }
      from[entry->second].push_back(at);
      if (found.size() > limit)
        return Error{"graph has more than " + std::to_string(limit) +
                     " antichains; give its layers as a chain"};
    }
  return sorted(found, from);
}

Result<std::vector<PipeDreamState>>
pipeDreamStates(const std::vector<PipeDreamNode> &nodes, size_t limit) {
  return Antichains(nodes).states(limit);
}

std::vector<PipeDreamState>
chainStates(const std::vector<PipeDreamNode> &nodes) {
  std::vector<PipeDreamState> result;
  PipeDreamState sum;
  for (size_t i = 0; i < nodes.size(); ++i) {
    sum.seconds += nodes[i].seconds;
    sum.parameterBytes += nodes[i].parameterBytes;
    sum.activationBytes += nodes[i].outputBytes;
    sum.nodes.push_back(i);
    if (i > 0)
      sum.predecessors.push_back(i - 1);
    sum.outputBytes = 0;
    for (size_t k = 0; k <= i; ++k)
      if (std::any_of(nodes[k].successors.begin(), nodes[k].successors.end(),
                      [&](size_t to) { return to > i; }))
        sum.outputBytes += nodes[k].outputBytes;
    result.push_back(sum);
  }
  return result;
}

} // namespace stagewright
