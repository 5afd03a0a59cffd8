//===- HandedOver.cpp - values that nodes of a stage pass on --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HandedOver.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <map>

namespace stagewright::pipeline {

HandedOver::HandedOver(GraphOp graph, ArrayRef<int64_t> stages) {
  auto stageOf = [&](NodeOp node) {
    return stages.empty() ? 0 : stages[node.getLayer()];
  };
  // By stage and phase: the nodes, in their order.
  std::map<std::pair<int64_t, ActionKind>, SmallVector<NodeOp>> groups;
  llvm::DenseMap<Operation *, size_t> placeOf;
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
    SmallVector<NodeOp> &group = groups[{stageOf(node), node.getPhase()}];
    placeOf[node] = group.size();
    group.push_back(node);
  }
  bool hasRings = stages.empty() && hasShards(graph);
  for (auto &[key, group] : groups) {
    // Differences to the bytes of the node before.
    SmallVector<int64_t> before(group.size() + 1, 0), during(before);
    for (auto [place, node] : llvm::enumerate(group))
      for (mlir::Value value : node.getOutputs()) {
        size_t last = place;
        bool isKept = false;
        llvm::SmallSetVector<int64_t, 4> readers; // Layers.
        for (Operation *user : value.getUsers()) {
          auto reader = dyn_cast<NodeOp>(user);
          isKept |= !reader || (stageOf(reader) == key.first &&
                                reader.getPhase() != key.second);
          if (isKept || stageOf(reader) != key.first)
            continue;
          last = std::max(last, placeOf[reader]);
          readers.insert(reader.getLayer());
        }
        if (isKept || last == place)
          continue;
        int64_t size = int64_t(
            llvm::alignTo(uint64_t(bytesOf(value.getType())), kSlotAlignment));
        auto add = [&](size_t first, size_t end) {
          before[first] += size, before[end] -= size;
          during[first] += size, during[end] -= size;
        };
        during[place] += size, during[place + 1] -= size;
        if (!hasRings)
          add(place + 1, last + 1);
        for (size_t later = place + 1; hasRings && later <= last; ++later)
          if (readers.contains(group[later].getLayer()))
            add(later, later + 1);
      }
    Bytes sum;
    for (auto [place, node] : llvm::enumerate(group)) {
      sum.before += before[place];
      sum.during += during[place];
      bytes[node] = sum;
    }
  }
}

int64_t HandedOver::temporariesOf(NodeOp node, std::optional<int64_t> workspace,
                                  int64_t parts) const {
  return workspace ? *workspace + bytes.lookup(node).during / parts : 0;
}

void countTemporariesOfStages(GraphOp graph, ArrayRef<int64_t> stages,
                              Problem &problem) {
  HandedOver handed(graph, stages);
  for (Layer &layer : problem.layers)
    layer.temporaries = {};
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
    stagewright::Bytes &most = problem.layers[node.getLayer()].temporaries;
    most = std::max(most, stagewright::Bytes(
                              handed.temporariesOf(node, node.getWorkspace())));
  }
}

} // namespace stagewright::pipeline
