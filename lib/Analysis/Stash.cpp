//===- Stash.cpp - what a forward keeps for its backward ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Stash.h"
#include "stagewright/Analysis/MinCut.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::pipeline;

/// Price of keeping one byte in scalar operations: it is written once and read
/// once, and a core does about 6.4 operations in the time of one byte (64
/// GFLOP/s and 10 GB/s, as in the cluster preset "local").
static constexpr int64_t kFlopsPerByte = 13;

namespace {
/// The cut of one layer.
class LayerCut {
public:
  LayerCut(const StepGraph &graph, const Layers &layers,
           const std::vector<bool> &isFactor, int layer)
      : graph(graph), layers(layers), isFactor(isFactor), layer(layer) {}

  /// The backward needs `value` here.
  void demand(Value value) {
    if (int node = nodeOf(value); node >= 0)
      cut.addEdge(node, MinCut::kSink, MinCut::kInfinite);
  }

  void solve(Stash &stash) {
    // nodeOf grows the list while it is walked.
    for (size_t i = 0; i < order.size(); ++i)
      connect(order[i]);
    if (order.empty())
      return;
    cut.solve();
    for (unsigned number : order) {
      const StepOp &entry = graph.ops[number];
      bool forward = cut.onSourceSide(opNodes[number]);
      if (entry.free) {
        for (Value result : entry.op->getResults())
          if (isCut(number, result))
            stash.keptFree[layer].insert(result);
      } else if (layers.layerOf[number] == layer) {
        stash.inBackward[number] = !forward;
        stash.movedToForward[number] = forward && isFactor[number];
      }
      for (Value result : entry.op->getResults())
        if (isCut(number, result))
          stash.keptBytes += bytesOf(result.getType());
    }
  }

private:
  bool isCut(unsigned number, Value result) {
    auto node = valueNodes.find(result);
    return node != valueNodes.end() && cut.onSourceSide(opNodes[number]) &&
           !cut.onSourceSide(node->second);
  }

  /// Node of `value`, with its operation queued; -1 for arguments and for
  /// values of the backward proper.
  int nodeOf(Value value) {
    int number = graph.indexOf(value);
    if (number < 0)
      return -1;
    const StepOp &entry = graph.ops[number];
    if (entry.isBackward() &&
        !(isFactor[number] && layers.layerOf[number] == layer))
      return -1;
    if (auto found = valueNodes.find(value); found != valueNodes.end())
      return found->second;
    auto [slot, isNew] = opNodes.try_emplace(number, 0);
    if (isNew) {
      slot->second = cut.addNode();
      order.push_back(number);
    }
    int opNode = slot->second;
    int node = cut.addNode();
    valueNodes[value] = node;
    cut.addEdge(opNode, node, kFlopsPerByte * bytesOf(value.getType()));
    return node;
  }

  /// Edges into operation `number`.
  void connect(unsigned number) {
    const StepOp &entry = graph.ops[number];
    int node = opNodes[number];
    bool here = entry.free || layers.layerOf[number] == layer;
    if (!here || (!entry.work.isCheap() && !entry.free)) {
      cut.addEdge(MinCut::kSource, node, MinCut::kInfinite);
      return;
    }
    // Heavy work on constants alone is as dear as its bytes: kept if anything
    // else is.
    int64_t price =
        entry.work.isCheap()
            ? static_cast<int64_t>(entry.work.flops)
            : 2 * kFlopsPerByte * bytesOf(entry.op->getResult(0).getType());
    if (!isFactor[number] && price > 0)
      cut.addEdge(MinCut::kSource, node, price);
    for (Value operand : entry.operands)
      if (int from = nodeOf(operand); from >= 0)
        cut.addEdge(from, node, MinCut::kInfinite);
  }

  const StepGraph &graph;
  const Layers &layers;
  const std::vector<bool> &isFactor;
  int layer;
  MinCut cut;
  llvm::DenseMap<unsigned, int> opNodes;
  llvm::DenseMap<Value, int> valueNodes;
  std::vector<unsigned> order;
};
} // namespace

/// Backward operations that are cheap, depend on forward values and other
/// factors of their layer only, and are read in their layer only.
static std::vector<bool> findFactors(const StepGraph &graph,
                                     const Layers &layers,
                                     const llvm::DenseSet<Value> &roots) {
  std::vector<bool> isFactor(graph.ops.size(), false);
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.isBackward() || !entry.work.isCheap())
      continue;
    int layer = layers.layerOf[number];
    // What it reads must be there when the forward of its layer runs.
    auto isReady = [&](Value operand) {
      int index = graph.indexOf(operand);
      if (index < 0 || graph.ops[index].free)
        return true;
      return graph.ops[index].isBackward()
                 ? isFactor[index] && layers.layerOf[index] == layer
                 : layers.layerOf[index] <= layer;
    };
    isFactor[number] = llvm::all_of(entry.operands, isReady) &&
                       llvm::all_of(entry.users,
                                    [&](unsigned user) {
                                      return !graph.ops[user].live ||
                                             layers.layerOf[user] == layer;
                                    }) &&
                       llvm::none_of(entry.op->getResults(), [&](Value result) {
                         return roots.contains(result);
                       });
  }
  return isFactor;
}

Stash stagewright::pipeline::chooseStash(const StepGraph &graph,
                                         const Layers &layers,
                                         ArrayRef<Value> roots) {
  Stash stash;
  stash.inBackward.assign(graph.ops.size(), false);
  stash.movedToForward.assign(graph.ops.size(), false);
  stash.keptFree.resize(layers.size());
  llvm::DenseSet<Value> rootSet(roots.begin(), roots.end());
  std::vector<bool> isFactor = findFactors(graph, layers, rootSet);

  // Demands by layer, in program order.
  std::vector<std::vector<Value>> demands(layers.size());
  for (auto [number, entry] : llvm::enumerate(graph.ops))
    if (entry.isBackward() && !isFactor[number])
      for (Value operand : entry.operands)
        demands[layers.layerOf[number]].push_back(operand);
  for (int layer = 0; layer < layers.size(); ++layer) {
    LayerCut cut(graph, layers, isFactor, layer);
    llvm::DenseSet<Value> seen;
    for (Value value : demands[layer])
      if (seen.insert(value).second) {
        cut.demand(value);
        int index = graph.indexOf(value);
        if (index >= 0 && !graph.ops[index].isBackward())
          stash.readBytes += bytesOf(value.getType());
      }
    cut.solve(stash);
  }
  return stash;
}
