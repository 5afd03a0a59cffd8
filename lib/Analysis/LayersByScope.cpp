//===- LayersByScope.cpp - forward layers from scopes ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterPaths.h"
#include "ScopeTree.h"
#include "stagewright/Analysis/Layers.h"
#include "stagewright/Support/TopologicalOrder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <set>

namespace stagewright::pipeline {

//===----------------------------------------------------------------------===//
// Scopes as numbers
//===----------------------------------------------------------------------===//

stagewright::Result<LayerOptions> parseLayerOptions(StringRef text) {
  LayerOptions options;
  auto fail = [&](const std::string &why) {
    return Error{"layers must be auto, flow, a depth of at least 1 or a "
                 "pattern such as transformer/h/*, got '" +
                 text.str() + "'" + why};
  };
  if (text == "auto")
    return options;
  if (text == "flow") {
    options.useScopes = false;
    return options;
  }
  if (!text.getAsInteger(10, options.depth)) {
    if (options.depth < 1)
      return fail("");
    return options;
  }
  SmallVector<StringRef> components;
  text.split(components, '/');
  for (StringRef component : components) {
    llvm::Expected<llvm::GlobPattern> glob =
        llvm::GlobPattern::create(component);
    if (!glob)
      return fail(": " + llvm::toString(glob.takeError()));
    if (component.empty())
      return fail(": a component is empty");
    options.pattern.push_back(std::move(*glob));
  }
  return options;
}

/// The number of components of `path` that name a layer, by a pattern such as
/// `transformer/h/*`: those that match it, and the first that does not.
static size_t agreeingDepth(const ScopePath &path,
                            ArrayRef<llvm::GlobPattern> pattern) {
  size_t depth = 0;
  while (depth < std::min(path.size(), pattern.size()) &&
         pattern[depth].match(path[depth]))
    ++depth;
  return std::min(path.size(), depth < pattern.size() ? depth + 1 : depth);
}

/// Scopes that name layers, from the path of each operation.
static Scopes scopesOfPaths(const StepGraph &graph, ArrayRef<ScopePath> paths,
                            const LayerOptions &options) {
  std::optional<ScopeTree> tree;
  if (options.depth == 0 && options.pattern.empty())
    tree.emplace(graph, paths);
  auto layerDepth = [&](const ScopePath &path) -> size_t {
    if (tree)
      return tree->layerDepth(path);
    return options.depth > 0 ? std::min<size_t>(options.depth, path.size())
                             : agreeingDepth(path, options.pattern);
  };

  Scopes scopes;
  llvm::StringMap<int> numbers;
  for (const ScopePath &path : paths) {
    size_t depth = layerDepth(path);
    if (depth == 0) {
      scopes.scopeOf.push_back(-1);
      continue;
    }
    std::string name = llvm::join(ArrayRef(path).take_front(depth), ".");
    auto [slot, isNew] = numbers.try_emplace(name, scopes.names.size());
    if (isNew)
      scopes.names.push_back(name);
    scopes.scopeOf.push_back(slot->second);
  }
  return scopes;
}

Scopes collectScopes(const StepGraph &graph, const LayerOptions &options) {
  std::vector<ScopePath> paths;
  llvm::DenseMap<Location, ScopePath> cache;
  for (const StepOp &entry : graph.ops) {
    auto [slot, isNew] = cache.try_emplace(entry.op->getLoc());
    if (isNew)
      slot->second = scopeOf(entry.op->getLoc());
    paths.push_back(slot->second);
  }
  return scopesOfPaths(graph, paths, options);
}

Scopes collectParameterScopes(const StepGraph &graph,
                              const LayerOptions &options) {
  Scopes scopes = scopesOfPaths(graph, pathsOfParameters(graph), options);
  scopes.mayReturn = false;
  return scopes;
}

//===----------------------------------------------------------------------===//
// Order of the scopes
//===----------------------------------------------------------------------===//

/// The scope assigned to each forward operation: its own, else that of an
/// operand, else that of a user.
static std::vector<int> completeScopes(const StepGraph &graph,
                                       const Scopes &scopes) {
  std::vector<int> result = scopes.scopeOf;
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.isChained() || result[number] >= 0)
      continue;
    for (Value operand : entry.operands)
      if (int index = graph.indexOf(operand);
          index >= 0 && graph.ops[index].isChained())
        result[number] = std::max(result[number], result[index]);
  }
  for (size_t number = graph.ops.size(); number-- > 0;) {
    const StepOp &entry = graph.ops[number];
    if (!entry.isChained() || result[number] >= 0)
      continue;
    for (unsigned user : entry.users)
      if (graph.ops[user].isChained() && result[user] >= 0) {
        result[number] = result[user];
        break;
      }
  }
  return result;
}

/// A topological order of the scopes, ties by first appearance; empty if there
/// is none because data flows back into an earlier scope.
static std::vector<int> orderScopes(const StepGraph &graph,
                                    const std::vector<int> &scopeOf,
                                    size_t count) {
  std::set<std::pair<int, int>> edges;
  std::vector<int64_t> first(count, -1);
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    int scope = scopeOf[number];
    if (!entry.isChained() || scope < 0)
      continue;
    if (first[scope] < 0)
      first[scope] = number;
    for (unsigned user : entry.users)
      if (graph.ops[user].isChained() && scopeOf[user] >= 0 &&
          scopeOf[user] != scope)
        edges.insert({scope, scopeOf[user]});
  }
  std::vector<size_t> all = topologicalOrder(successorsOf(count, edges), first);
  std::vector<int> order;
  for (size_t scope : all)
    if (first[scope] >= 0)
      order.push_back(int(scope));
  return all.size() == count ? order : std::vector<int>();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// The max layer of the forward operands of operation `number`, which is the
/// lowest that it can have; -1 without any.
static int lowestLayer(const StepGraph &graph, const Layers &layers,
                       unsigned number) {
  int lowest = -1;
  for (Value operand : graph.ops[number].operands)
    if (int index = graph.indexOf(operand); index >= 0)
      lowest = std::max(lowest, layers.layerOf[index]);
  return lowest;
}

/// For data that flows back into scopes ("attn", "mlp", "attn", ...): every
/// visit of a scope becomes a layer of its own. A later visit without a
/// contraction is merged into the layer before it.
static void assignVisits(const StepGraph &graph, const Scopes &scopes,
                         const std::vector<int> &scopeOf, Layers &layers) {
  std::vector<int> newest(scopes.names.size(), -1), visits(scopes.names.size());
  std::vector<bool> hasContraction;
  std::vector<int> raw(graph.ops.size(), -1);
  std::vector<int> scopeOfVisit;
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.isChained())
      continue;
    int lowest = -1;
    for (Value operand : entry.operands)
      if (int index = graph.indexOf(operand); index >= 0)
        lowest = std::max(lowest, raw[index]);
    int scope = scopeOf[number];
    if (scope < 0) {
      raw[number] = std::max(lowest, 0);
      continue;
    }
    if (newest[scope] < lowest || newest[scope] < 0) {
      newest[scope] = scopeOfVisit.size();
      scopeOfVisit.push_back(scope);
      hasContraction.push_back(false);
    }
    raw[number] = newest[scope];
    if (isContraction(entry.op))
      hasContraction[raw[number]] = true;
  }
  // Keep first visits and those with a contraction; merge every other visit
  // into the kept one before it.
  llvm::StringSet<> taken;
  for (const std::string &name : scopes.names)
    taken.insert(name);
  std::vector<int> kept(scopeOfVisit.size(), 0);
  for (size_t visit = 0; visit < scopeOfVisit.size(); ++visit) {
    int scope = scopeOfVisit[visit];
    if (visits[scope] == 0 || hasContraction[visit]) {
      std::string name = scopes.names[scope];
      if (visits[scope] > 0)
        do {
          name = scopes.names[scope] + "." + std::to_string(visits[scope]++);
        } while (!taken.insert(name).second);
      else
        visits[scope] = 1;
      layers.names.push_back(name);
    }
    kept[visit] = layers.names.size() - 1;
  }
  for (size_t number = 0; number < raw.size(); ++number)
    if (raw[number] >= 0)
      layers.layerOf[number] = scopeOfVisit.empty() ? 0 : kept[raw[number]];
}

/// Moves operations without a scope to the first layer of their users if their
/// operands have no more bytes than their results, or are not of the forward.
static void settleUnscoped(const StepGraph &graph, const Scopes &scopes,
                           Layers &layers) {
  for (size_t number = graph.ops.size(); number-- > 0;) {
    const StepOp &entry = graph.ops[number];
    if (!entry.isChained() || scopes.scopeOf[number] >= 0)
      continue;
    int high = layers.size();
    for (unsigned user : entry.users)
      if (layers.layerOf[user] >= 0 && graph.ops[user].forward)
        high = std::min(high, layers.layerOf[user]);
    int low = lowestLayer(graph, layers, number);
    if (high == layers.size() || high <= layers.layerOf[number])
      continue;
    int64_t in = 0, out = 0;
    for (Value operand : entry.operands)
      if (int index = graph.indexOf(operand);
          index >= 0 && graph.ops[index].isChained())
        in += bytesOf(operand.getType());
    for (Type type : entry.op->getResultTypes())
      out += bytesOf(type);
    if (low < 0 || in <= out)
      layers.layerOf[number] = high;
  }
}

bool assignForwardByScope(const StepGraph &graph, const Scopes &scopes,
                          Layers &layers) {
  // Counts of contractions [true] and of other operations [false].
  size_t scoped[2] = {0, 0}, all[2] = {0, 0};
  std::set<int> distinct;
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.isChained())
      continue;
    bool hasScope = scopes.scopeOf[number] >= 0;
    bool heavy = isContraction(entry.op);
    ++all[heavy];
    scoped[heavy] += hasScope;
    if (hasScope)
      distinct.insert(scopes.scopeOf[number]);
  }
  // Scopes that cover less than half of the contractions (or of all operations,
  // if there are none) do not determine the layers.
  bool heavy = all[true] > 0;
  if (distinct.size() < 2 || 2 * scoped[heavy] < all[heavy])
    return false;
  std::vector<int> scopeOf = completeScopes(graph, scopes);
  std::vector<int> order = orderScopes(graph, scopeOf, scopes.names.size());
  if (order.empty() && !scopes.mayReturn)
    return false;
  if (order.empty()) {
    assignVisits(graph, scopes, scopeOf, layers);
  } else {
    std::vector<int> position(scopes.names.size(), -1);
    for (auto [layer, scope] : llvm::enumerate(order)) {
      position[scope] = layer;
      layers.names.push_back(scopes.names[scope]);
    }
    for (auto [number, entry] : llvm::enumerate(graph.ops))
      if (entry.isChained())
        layers.layerOf[number] =
            std::max(scopeOf[number] < 0 ? 0 : position[scopeOf[number]],
                     lowestLayer(graph, layers, number));
  }
  settleUnscoped(graph, scopes, layers);
  layers.byScope = true;
  return true;
}

} // namespace stagewright::pipeline
