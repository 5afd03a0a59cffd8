//===- BackwardLayers.cpp - layers of backward operations -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Also has assignLayers(), which runs all parts that Layers.h declares.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Analysis/Annotations.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

namespace stagewright::pipeline {

static constexpr int kAny = std::numeric_limits<int>::max();

/// If operation `number` inserts a part into an array, and the only reader of
/// the result inserts the next part, moves it to the reader's layer, unless
/// that is below `floor`. In its own layer, an incomplete array would be sent
/// from layer to layer, and copied in each of them.
static void joinParts(const StepGraph &graph, size_t number, int floor,
                      Layers &layers) {
  const StepOp &entry = graph.ops[number];
  if (!isa<tensor::InsertSliceOp>(entry.op) || entry.users.size() != 1)
    return;
  unsigned user = entry.users.front();
  const StepOp &reader = graph.ops[user];
  auto next = dyn_cast<tensor::InsertSliceOp>(reader.op);
  if (next && next.getDest() == entry.op->getResult(0) &&
      reader.isChained() == entry.isChained() &&
      reader.isBackward() == entry.isBackward() &&
      layers.layerOf[user] >= floor)
    layers.layerOf[number] = layers.layerOf[user];
}

namespace {
/// Assigns backward layers; the arrays are indexed by operation number.
class BackwardAssigner {
public:
  BackwardAssigner(const StepGraph &graph, const Scopes &scopes, Layers &layers)
      : graph(graph), scopes(scopes), layers(layers) {}

  void run() {
    computeFloors();
    collectHolders();
    collectScopeLayers();
    isFactor.assign(graph.ops.size(), false);
    for (size_t number = 0; number < graph.ops.size(); ++number)
      if (graph.ops[number].isBackward())
        assign(number);
    for (size_t number = graph.ops.size(); number-- > 0;)
      if (graph.ops[number].isBackward()) {
        settle(number);
        joinParts(graph, number, floors[number], layers);
      }
  }

private:
  /// The lowest layer that each backward operation may have: a forward value is
  /// never sent to an earlier layer, nor a backward value to a later one. A
  /// producer's floor is at least that of its readers, so both rules can hold.
  void computeFloors() {
    floors.assign(graph.ops.size(), 0);
    for (size_t number = graph.ops.size(); number-- > 0;) {
      const StepOp &entry = graph.ops[number];
      if (!entry.isBackward())
        continue;
      for (Value operand : entry.operands)
        if (int index = graph.indexOf(operand);
            index >= 0 && graph.ops[index].isChained())
          floors[number] = std::max(floors[number], layers.layerOf[index]);
      for (unsigned user : entry.users)
        if (graph.ops[user].isBackward())
          floors[number] = std::max(floors[number], floors[user]);
    }
  }

  /// For each forward value and parameter: the layers that make or read it,
  /// ascending.
  void collectHolders() {
    for (auto [number, entry] : llvm::enumerate(graph.ops)) {
      if (!entry.isChained())
        continue;
      int layer = layers.layerOf[number];
      for (Value operand : entry.operands)
        holders[operand].push_back(layer);
      for (Value result : entry.op->getResults())
        holders[result].push_back(layer);
    }
    // A copy of a parameter that only the backward reads (transposed,
    // converted) has the layers of the parameter.
    for (const StepOp &entry : graph.ops) {
      if (!entry.free || entry.op->getNumResults() != 1 ||
          holders.contains(entry.op->getResult(0)))
        continue;
      SmallVector<int, 4> inherited;
      for (Value operand : entry.operands)
        if (!isInput(operand))
          if (auto found = holders.find(operand); found != holders.end())
            inherited.append(found->second.begin(), found->second.end());
      if (!inherited.empty())
        holders[entry.op->getResult(0)] = inherited;
    }
    for (auto &entry : holders) {
      llvm::sort(entry.second);
      entry.second.erase(llvm::unique(entry.second), entry.second.end());
    }
  }

  /// Arguments that are not parameters are available on every stage at no cost,
  /// so they do not indicate a layer.
  bool isInput(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && !graph.isParameter(argument.getArgNumber());
  }

  void collectScopeLayers() {
    if (!layers.byScope)
      return;
    scopeLayers.resize(scopes.names.size());
    for (auto [number, entry] : llvm::enumerate(graph.ops))
      if (int scope = scopes.scopeOf[number]; scope >= 0 && entry.isChained())
        scopeLayers[scope].push_back(layers.layerOf[number]);
    for (auto &list : scopeLayers) {
      llvm::sort(list);
      list.erase(llvm::unique(list), list.end());
    }
  }

  /// Largest entry of ascending `list` that is at most `bound`, -1 if there is
  /// none.
  static int largestBelow(ArrayRef<int> list, int bound) {
    auto above = llvm::upper_bound(list, bound);
    return above == list.begin() ? -1 : *std::prev(above);
  }

  /// For each forward value or parameter that operation `number` reads, takes
  /// its latest layer that is at most `bound`; returns the min of these, -1 if
  /// there is none.
  int layerByReads(unsigned number, int bound) const {
    int layer = -1;
    for (Value operand : graph.ops[number].operands) {
      int index = graph.indexOf(operand);
      if (isInput(operand) || (index >= 0 && graph.ops[index].isBackward()))
        continue;
      auto held = holders.find(operand);
      if (held == holders.end())
        continue;
      int best = largestBelow(held->second, bound);
      if (best >= 0)
        layer = layer < 0 ? best : std::min(layer, best);
    }
    return layer;
  }

  void assign(unsigned number) {
    const StepOp &entry = graph.ops[number];
    int bound = kAny;
    bool factor = entry.work.isCheap();
    for (Value operand : entry.operands)
      if (int index = graph.indexOf(operand);
          index >= 0 && graph.ops[index].isBackward()) {
        factor &= isFactor[index];
        if (!isFactor[index])
          bound = std::min(bound, layers.layerOf[index]);
      }
    isFactor[number] = factor;
    int layer = layerByReads(number, bound);
    int scope = scopes.scopeOf[number];
    if (layers.byScope && scope >= 0 && !scopeLayers[scope].empty()) {
      ArrayRef<int> list = scopeLayers[scope];
      // If the scope has several layers, the operation's reads choose one.
      int best =
          largestBelow(list, list.size() > 1 && layer >= 0 ? layer : kAny);
      layer = best >= 0 ? best : list.front();
    }
    if (layer < 0)
      layer = bound; // the layer of its producers
    layers.layerOf[number] =
        std::max(floors[number], std::min({layer, bound, layers.size() - 1}));
  }

  /// Moves a factor (a derivative computed from forward values alone) to the
  /// latest layer of its users, and an operation whose results are larger than
  /// its operands (a broadcast) to the layer that reads it.
  void settle(unsigned number) {
    const StepOp &entry = graph.ops[number];
    int reader = -1;
    for (unsigned user : entry.users)
      if (graph.ops[user].isBackward())
        reader = std::max(reader, layers.layerOf[user]);
    int &layer = layers.layerOf[number];
    if (isFactor[number]) {
      bool scoped = layers.byScope && scopes.scopeOf[number] >= 0;
      layer = scoped || reader < 0 ? std::max(layer, reader)
                                   : std::max(floors[number], reader);
      return;
    }
    if (reader < floors[number] || reader >= layer ||
        scopes.scopeOf[number] >= 0 || layerByReads(number, kAny) >= 0)
      return;
    int64_t in = 0, out = 0;
    for (Value operand : entry.operands)
      if (int index = graph.indexOf(operand);
          index >= 0 && graph.ops[index].isBackward())
        in += bytesOf(operand.getType());
    for (Type type : entry.op->getResultTypes())
      out += bytesOf(type);
    if (out > in)
      layer = reader;
  }

  const StepGraph &graph;
  const Scopes &scopes;
  Layers &layers;
  std::vector<int> floors;
  llvm::DenseMap<Value, SmallVector<int, 4>> holders;
  std::vector<SmallVector<int, 4>> scopeLayers;
  std::vector<bool> isFactor;
};
} // namespace

void assignBackward(const StepGraph &graph, const Scopes &scopes,
                    Layers &layers) {
  BackwardAssigner(graph, scopes, layers).run();
}

Layers assignLayers(const StepGraph &graph, const LayerOptions &options,
                    const StepAnnotations *annotations) {
  Layers layers;
  layers.layerOf.assign(graph.ops.size(), -1);
  Scopes scopes;
  scopes.scopeOf.assign(graph.ops.size(), -1);
  auto assignBy = [&](Scopes found) {
    scopes = std::move(found);
    return assignForwardByScope(graph, scopes, layers);
  };
  if (!options.useScopes || (!assignBy(collectScopes(graph, options)) &&
                             !assignBy(collectParameterScopes(graph, options))))
    assignForwardByStructure(graph, layers);
  if (annotations)
    splitAtAnnotations(graph, *annotations, layers);
  for (size_t number = graph.ops.size(); number-- > 0;)
    if (graph.ops[number].isChained())
      joinParts(graph, number, /*floor=*/0, layers);
  assignBackward(graph, scopes, layers);
  return layers;
}

} // namespace stagewright::pipeline
