//===- ScopeTree.cpp - which scopes are layers ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScopeTree.h"
#include "AliveSizes.h"

namespace stagewright::pipeline {

/// Shares of all contractions. A scope with more than kWhole is the model, not
/// a layer. One with more than kLarge is no layer if half of its borders are
/// clean.
static constexpr double kWhole = 0.9, kLarge = 0.6;
/// Values smaller than the largest live one divided by this are not counted:
/// masks, statistics.
static constexpr int64_t kSmall = 8;

/// `name` without the digits at its end.
static StringRef stemOf(StringRef name) { return name.rtrim("0123456789"); }

static bool isNumbered(StringRef name) {
  return stemOf(name).size() != name.size();
}

ScopeTree::ScopeTree(const StepGraph &graph, ArrayRef<ScopePath> paths)
    : graph(graph) {
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    Node *node = &root;
    auto visit = [&] {
      if (!entry.isChained())
        return;
      node->operations.push_back(number);
      node->contractions += isContraction(entry.op);
    };
    visit();
    for (StringRef name : paths[number]) {
      std::unique_ptr<Node> &child = node->children[name];
      if (!child) {
        child = std::make_unique<Node>();
        child->signature = (node->signature + "/" + stemOf(name)).str();
      }
      node = child.get();
      visit();
    }
  }
  findRepeats(root);
  countBorders(root, 0, paths);
  decide(root);
}

void ScopeTree::findRepeats(Node &node) {
  // Blocks repeat if three siblings have the same stem, or two siblings with
  // children do: two siblings without children may be products that a framework
  // numbers.
  llvm::StringMap<unsigned> all, blocks;
  for (auto &[name, child] : node.children) {
    findRepeats(*child);
    node.repeats |= child->repeats;
    if (!isNumbered(name))
      continue;
    blocks[stemOf(name)] += !child->children.empty();
    node.repeats |= ++all[stemOf(name)] > 2 || blocks[stemOf(name)] > 1;
  }
}

void ScopeTree::countBorders(const Node &node, unsigned depth,
                             ArrayRef<ScopePath> paths) {
  for (const auto &entry : node.children)
    countBorders(*entry.second, depth + 1, paths);
  if (node.operations.empty())
    return;
  // A value is live from the operation after its maker to its last reader in
  // this scope, or to the end of the scope if it is read after that. A value
  // from outside counts only if it is live beside the main path of this scope,
  // as a residual is. It does not count if it is read after the scope, by one
  // part only, or by several blocks (the output of an encoder).
  ArrayRef<unsigned> list = node.operations;
  llvm::DenseMap<unsigned, unsigned> placeOf;
  for (auto [place, number] : llvm::enumerate(list))
    placeOf[number] = place;
  llvm::MapVector<Value, std::pair<unsigned, unsigned>> lives;
  auto isReadAfter = [&](unsigned maker) {
    return llvm::any_of(graph.ops[maker].users, [&](unsigned user) {
      return user > list.back() && graph.ops[user].isChained();
    });
  };
  auto partOf = [&](unsigned number) {
    const ScopePath &path = paths[number];
    return path.size() > depth ? path[depth] : StringRef();
  };
  auto passesBy = [&](unsigned maker) {
    llvm::StringMap<StringRef> firsts; // by stem
    llvm::SmallDenseSet<StringRef> parts;
    for (unsigned user : graph.ops[maker].users) {
      if (!placeOf.contains(user))
        continue;
      StringRef part = partOf(user);
      parts.insert(part);
      if (!isNumbered(part) ||
          node.children.find(part)->second->children.empty())
        continue;
      if (firsts.try_emplace(stemOf(part), part).first->second != part)
        return true;
    }
    return parts.size() < 2;
  };
  for (auto [place, number] : llvm::enumerate(list))
    for (Value operand : graph.ops[number].operands) {
      int maker = graph.indexOf(operand);
      if (maker < 0 || !graph.ops[maker].isChained())
        continue;
      auto inside = placeOf.find(maker);
      bool isOwn = inside != placeOf.end();
      if (!isOwn && (isReadAfter(maker) || passesBy(maker)))
        continue;
      auto &life = lives.try_emplace(operand, isOwn ? inside->second + 1 : 0, 0)
                       .first->second;
      life.second = std::max<unsigned>(life.second, place);
      if (isOwn && isReadAfter(maker))
        life.second = list.size();
    }
  AliveSizes sizes(list.size() + 1);
  for (auto &[value, life] : lives)
    sizes.add(life.first, life.second, bytesOf(value.getType()));
  Borders &count = borders[node.signature];
  sizes.sweep([&](size_t place, const AliveSizes::Place &alive) {
    if (place == 0 || place == list.size() ||
        partOf(list[place]) == partOf(list[place - 1]))
      return;
    unsigned large = 0;
    for (auto [bytes, values] : alive.counts)
      if (bytes * kSmall >= alive.largest())
        large += values;
    ++count.all;
    count.clean += large <= 1;
  });
}

void ScopeTree::decide(Node &node) {
  Borders count = borders.lookup(node.signature);
  auto isMoreThan = [&](double share) {
    return node.contractions > share * root.contractions;
  };
  node.opens = isMoreThan(kWhole) || ((node.repeats || isMoreThan(kLarge)) &&
                                      2 * count.clean >= count.all);
  for (auto &entry : node.children)
    decide(*entry.second);
}

size_t ScopeTree::layerDepth(const ScopePath &path) const {
  const Node *node = &root;
  size_t depth = 0;
  for (StringRef name : path) {
    node = node->children.find(name)->second.get();
    ++depth;
    if (!node->opens)
      return depth;
  }
  // Operations directly in a scope that is no layer join a neighbouring layer.
  return node->opens && !node->children.empty() ? 0 : depth;
}

} // namespace stagewright::pipeline
