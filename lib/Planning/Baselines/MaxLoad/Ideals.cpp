//===- Ideals.cpp - sets of nodes closed under predecessors ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/Ideals.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

namespace {
/// A hash table of distinct sets of nodes, each stored as bits.
class BitSets {
public:
  explicit BitSets(size_t nodes)
      : words(std::max<size_t>((nodes + 63) / 64, 1)), slots(1024, -1) {}

  size_t size() const { return bits.size() / words; }
  const uint64_t *at(size_t set) const { return bits.data() + set * words; }

  /// Inserts the set unless it is known. Returns its number.
  int insert(const std::vector<uint64_t> &set) {
    if (2 * size() >= slots.size())
      grow();
    size_t slot = find(set.data());
    if (slots[slot] < 0) {
      slots[slot] = int(size());
      bits.insert(bits.end(), set.begin(), set.end());
    }
    return slots[slot];
  }

private:
  size_t find(const uint64_t *set) const {
    uint64_t hash = 0;
    for (size_t i = 0; i < words; ++i) {
      // The finalizer of splitmix64 (Steele, Lea, Flood 2014).
      hash += set[i] + 0x9e3779b97f4a7c15;
      hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
      hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
      hash ^= hash >> 31;
    }
    size_t slot = hash & (slots.size() - 1);
    while (slots[slot] >= 0 && !std::equal(set, set + words, at(slots[slot])))
      slot = (slot + 1) & (slots.size() - 1);
    return slot;
  }

  void grow() {
    slots.assign(2 * slots.size(), -1);
    for (size_t set = 0; set < size(); ++set)
      slots[find(at(set))] = int(set);
  }

  size_t words;
  std::vector<uint64_t> bits;
  std::vector<int> slots;
};
} // namespace

std::optional<Ideals> Ideals::create(const LoadGraph &graph, size_t most) {
  size_t words = std::max<size_t>((graph.size() + 63) / 64, 1);
  std::vector<std::vector<uint64_t>> needs(graph.size(),
                                           std::vector<uint64_t>(words));
  for (size_t node = 0; node < graph.size(); ++node)
    for (int before : graph.before[node])
      needs[node][before / 64] |= uint64_t(1) << (before % 64);
  BitSets sets(graph.size());
  std::vector<uint64_t> set(words);
  sets.insert(set);
  // Breadth first, so ideals are numbered by increasing size.
  std::vector<std::pair<int, Smaller>> found;
  for (size_t ideal = 0; ideal < sets.size(); ++ideal) {
    if (sets.size() > most)
      return std::nullopt;
    std::copy_n(sets.at(ideal), words, set.begin());
    for (size_t node = 0; node < graph.size(); ++node) {
      uint64_t bit = uint64_t(1) << (node % 64);
      bool canJoin = !(set[node / 64] & bit);
      for (size_t i = 0; canJoin && i < words; ++i)
        canJoin = !(needs[node][i] & ~set[i]);
      if (!canJoin)
        continue;
      set[node / 64] |= bit;
      found.push_back({sets.insert(set), {int(node), int(ideal)}});
      set[node / 64] &= ~bit;
    }
  }
  Ideals result;
  result.ranks.resize(graph.size());
  std::iota(result.ranks.begin(), result.ranks.end(), 0);
  std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) {
    return std::pair(a.first, a.second.node) <
           std::pair(b.first, b.second.node);
  });
  for (const auto &[ideal, step] : found) {
    result.starts.resize(ideal + 1, result.steps.size());
    result.steps.push_back(step);
  }
  result.starts.push_back(result.steps.size());
  return result;
}

std::vector<int> Ideals::nodesOf(int ideal) const {
  std::vector<int> nodes;
  for (; ideal != 0; ideal = smaller(ideal).front().ideal)
    nodes.push_back(smaller(ideal).front().node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Ideals Ideals::ofOrder(const std::vector<int> &order) {
  Ideals result;
  result.ranks.resize(order.size());
  result.starts.push_back(0);
  for (size_t i = 0; i < order.size(); ++i) {
    result.ranks[order[i]] = int(i);
    result.steps.push_back({order[i], int(i)});
    result.starts.push_back(i + 1);
  }
  return result;
}

} // namespace stagewright
