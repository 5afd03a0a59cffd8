//===- Stash.cpp - what a forward keeps for its backward ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Stash.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Analysis/MinCut.h"

namespace stagewright::pipeline {

/// Max cost of repeating a contraction, in multiples of the cost of keeping its
/// result. At the rates of the cluster "local" it admits attention scores if
/// heads have up to 320 elements.
static constexpr int64_t kMostTimes = 20;

/// Keeping a value that is written anyway costs less than any operation on it,
/// but more than 0, so that the smaller of two such values is kept.
static constexpr int64_t kWrittenBytesPerFlop = 16;

/// Whether `op` is a contraction that may be repeated. Convolutions are never
/// repeated: their operands are about as large as their results.
static bool isExpanding(Operation *op, const StashPrices &prices) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (prices.keep == StashKeep::Written || prices.repeatRatio < 1 ||
      !linalgOp || op->getNumResults() != 1 || !isContraction(op) ||
      !linalg::isaContractionOpInterface(linalgOp))
    return false;
  double flops = 2;
  for (int64_t extent : linalgOp.getStaticLoopRanges())
    flops *= static_cast<double>(extent);
  int64_t read = 0, written = bytesOf(op->getResult(0).getType());
  for (Value input : linalgOp.getDpsInputs())
    read += bytesOf(input.getType());
  return written / prices.repeatRatio >= read &&
         flops <= static_cast<double>(kMostTimes * prices.flopsPerByte) *
                      static_cast<double>(written);
}

/// The only operation of the forward that reads `entry`, or null.
static const StepOp *onlyForwardReader(const StepGraph &graph,
                                       const StepOp &entry) {
  const StepOp *only = nullptr;
  for (unsigned user : entry.users)
    if (graph.ops[user].isChained()) {
      if (only)
        return nullptr;
      only = &graph.ops[user];
    }
  return only;
}

/// Whether the kernel of `maker` stores the result of `reader` instead of its
/// own: the same elements in another order, or rounded to a narrower type.
static bool isStoredAs(const StepOp &reader, const StepOp &maker) {
  if (reader.op->getNumResults() != 1 || maker.op->getNumResults() != 1)
    return false;
  auto from = dyn_cast<ShapedType>(maker.op->getResult(0).getType()),
       to = dyn_cast<ShapedType>(reader.op->getResult(0).getType());
  if (!from || !to || from.getNumElements() != to.getNumElements())
    return false;
  return reader.work.kind == WorkKind::Move ||
         (reader.work.isCheap() && bytesOf(to) < bytesOf(from));
}

/// Per operation of the forward: whether its results are written to memory
/// even if nothing is kept.
static std::vector<bool> findWritten(const StepGraph &graph,
                                     const Layers &layers) {
  std::vector<bool> written(graph.ops.size(), false);
  // The max number of contractions on a path to each operation. A value with a
  // reader of greater depth is live across a contraction, so it is in memory.
  std::vector<int> depths(graph.ops.size(), 0);
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.isChained())
      continue;
    bool contracts = isContraction(entry.op);
    for (Value operand : entry.operands)
      if (int maker = graph.indexOf(operand); maker >= 0)
        depths[number] = std::max(depths[number], depths[maker]);
    depths[number] += contracts;
    for (Value operand : entry.operands)
      if (int maker = graph.indexOf(operand);
          maker >= 0 && graph.ops[maker].isChained())
        written[maker] = written[maker] || depths[number] > depths[maker] ||
                         layers.layerOf[number] != layers.layerOf[maker];
    if (entry.work.isCheap())
      continue;
    const StepOp *stored = &entry, *reader = &entry;
    while (contracts && (reader = onlyForwardReader(graph, *stored)) &&
           isStoredAs(*reader, *stored))
      stored = reader;
    written[stored - graph.ops.data()] = true;
  }
  return written;
}

namespace {
/// The minimum cut of one layer.
class LayerCut {
public:
  LayerCut(const StepGraph &graph, const Layers &layers,
           const std::vector<bool> &isFactor,
           const std::vector<bool> &isWritten, StashPrices prices, int layer)
      : graph(graph), layers(layers), isFactor(isFactor), isWritten(isWritten),
        prices(prices), layer(layer) {}

  /// Adds `value` to the values that the backward of the layer reads.
  void demand(Value value) {
    if (int node = nodeOf(value); node >= 0) {
      cut.addEdge(node, MinCut::kSink, MinCut::kInfinite);
      demanded.push_back(graph.indexOf(value));
    }
  }

  void solve(Stash &stash) {
    // connect() may append to `order`, so no iterators.
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
    }
    describe(stash);
  }

private:
  /// Records the values kept, and the operations repeated for those demanded.
  void describe(Stash &stash) {
    LayerStash &own = stash.layers[layer];
    llvm::sort(order);
    for (unsigned number : order)
      for (Value result : graph.ops[number].op->getResults())
        if (isCut(number, result)) {
          own.kept.push_back(result);
          own.keptBytes += bytesOf(result.getType());
        }
    stash.keptBytes += own.keptBytes;
    llvm::DenseSet<unsigned> seen;
    while (!demanded.empty()) {
      unsigned number = demanded.pop_back_val();
      auto node = opNodes.find(number);
      if (node == opNodes.end() || cut.onSourceSide(node->second) ||
          !seen.insert(number).second)
        continue;
      if (!graph.ops[number].free && !isFactor[number])
        own.repeated.push_back(number);
      for (Value operand : graph.ops[number].operands)
        if (int index = graph.indexOf(operand); index >= 0)
          demanded.push_back(index);
    }
    llvm::sort(own.repeated);
  }

  bool isCut(unsigned number, Value result) {
    auto node = valueNodes.find(result);
    return node != valueNodes.end() && cut.onSourceSide(opNodes[number]) &&
           !cut.onSourceSide(node->second);
  }

  /// The node of `value`, whose operation is appended to `order`; -1 for
  /// arguments and for backward values that are no factors of this layer.
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
    int64_t bytes = bytesOf(value.getType());
    cut.addEdge(opNode, node,
                isWritten[number] ? bytes / kWrittenBytesPerFlop + 1
                                  : prices.flopsPerByte * bytes);
    return node;
  }

  /// Adds the edges into operation `number`.
  void connect(unsigned number) {
    const StepOp &entry = graph.ops[number];
    int node = opNodes[number];
    bool here = entry.free || layers.layerOf[number] == layer;
    bool expands = isExpanding(entry.op, prices);
    if (!here || (!entry.work.isCheap() && !entry.free && !expands &&
                  !isFactor[number])) {
      cut.addEdge(MinCut::kSource, node, MinCut::kInfinite);
      return;
    }
    int64_t bytes = bytesOf(entry.op->getResult(0).getType());
    // Expensive work on constants alone costs twice what keeping its result
    // does, so that the result is kept.
    int64_t price = entry.work.isCheap()
                        ? static_cast<int64_t>(entry.work.flops)
                    : expands ? bytes
                              : 2 * prices.flopsPerByte * bytes;
    if (!isFactor[number] && price > 0)
      cut.addEdge(MinCut::kSource, node, price);
    for (Value operand : entry.operands)
      if (int from = nodeOf(operand); from >= 0) {
        cut.addEdge(from, node, MinCut::kInfinite);
        // If a factor moves to the forward, so do the factors that it reads.
        if (int maker = graph.indexOf(operand);
            isFactor[number] && isFactor[maker])
          cut.addEdge(node, opNodes[maker], MinCut::kInfinite);
      }
  }

  const StepGraph &graph;
  const Layers &layers;
  const std::vector<bool> &isFactor, &isWritten;
  StashPrices prices;
  int layer;
  MinCut cut;
  llvm::DenseMap<unsigned, int> opNodes;
  llvm::DenseMap<Value, int> valueNodes;
  std::vector<unsigned> order;
  SmallVector<unsigned> demanded; ///< Operations.
};
} // namespace

/// Whether `op` is a reduction (a sum, a max) other than a contraction.
static bool isReduction(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() > 0 && !isContraction(op);
}

/// Factors: backward operations that are cheap or reductions, depend only on
/// forward values and factors of their layer, and are read only in their layer.
static std::vector<bool> findFactors(const StepGraph &graph,
                                     const Layers &layers,
                                     const llvm::DenseSet<Value> &roots) {
  std::vector<bool> isFactor(graph.ops.size(), false);
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    if (!entry.isBackward() ||
        (!entry.work.isCheap() && !isReduction(entry.op)))
      continue;
    int layer = layers.layerOf[number];
    // Its operands must be available when the forward of its layer runs.
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

Stash chooseStash(const StepGraph &graph, const Layers &layers,
                  ArrayRef<Value> roots, StashPrices prices) {
  Stash stash;
  stash.inBackward.assign(graph.ops.size(), false);
  stash.movedToForward.assign(graph.ops.size(), false);
  stash.keptFree.resize(layers.size());
  stash.layers.resize(layers.size());
  llvm::DenseSet<Value> rootSet(roots.begin(), roots.end());
  std::vector<bool> isFactor = findFactors(graph, layers, rootSet);
  std::vector<bool> isWritten =
      prices.keep == StashKeep::Written
          ? findWritten(graph, layers)
          : std::vector<bool>(graph.ops.size(), false);
  // A factor that a contraction reads is in memory wherever it is computed.
  for (auto [number, entry] : llvm::enumerate(graph.ops))
    if (prices.keep == StashKeep::Written && isFactor[number])
      isWritten[number] = llvm::any_of(entry.users, [&](unsigned user) {
        return isContraction(graph.ops[user].op);
      });

  // The values that the backward of each layer reads, in program order.
  std::vector<std::vector<Value>> demands(layers.size());
  for (auto [number, entry] : llvm::enumerate(graph.ops))
    if (entry.isBackward() && !isFactor[number])
      for (Value operand : entry.operands)
        demands[layers.layerOf[number]].push_back(operand);
  for (int layer = 0; layer < layers.size(); ++layer) {
    LayerCut cut(graph, layers, isFactor, isWritten, prices, layer);
    llvm::DenseSet<Value> seen;
    for (Value value : demands[layer])
      if (seen.insert(value).second) {
        cut.demand(value);
        int index = graph.indexOf(value);
        if (index >= 0 && !graph.ops[index].isBackward())
          stash.layers[layer].readBytes += bytesOf(value.getType());
      }
    stash.readBytes += stash.layers[layer].readBytes;
    cut.solve(stash);
  }
  return stash;
}

} // namespace stagewright::pipeline
