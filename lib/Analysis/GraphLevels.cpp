//===- GraphLevels.cpp - recomputation levels of a graph's layers ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphLevels.h"
#include "HandedOver.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/Work.h"

namespace stagewright::pipeline {
namespace {

/// A forward node with recomputation levels, and the backward of its layer.
struct LeveledLayer {
  NodeOp forward;
  SmallVector<NodeOp, 2> backward;

  int64_t number() { return forward.getLayer(); }
  /// The phase in which recomputed values become live: the first of the
  /// backward.
  ActionKind when() { return actionPhase(backward.front().getPhase()); }
  LevelAttr level(int64_t number) {
    return cast<LevelAttr>(forward.getLevelsAttr()[number - 1]);
  }
  int64_t numLevels() { return int64_t(forward.getLevelsAttr().size()); }
};

SmallVector<LeveledLayer> leveledLayers(GraphOp graph) {
  SmallVector<LeveledLayer> layers;
  DenseMap<int64_t, size_t> numberOf;
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
    if (node.getPhase() == ActionKind::Forward && node.getLevelsAttr()) {
      numberOf[node.getLayer()] = layers.size();
      layers.push_back({node, {}});
    } else if (auto found = numberOf.find(node.getLayer());
               found != numberOf.end() &&
               node.getPhase() != ActionKind::Forward) {
      layers[found->second].backward.push_back(node);
    }
  }
  llvm::erase_if(layers,
                 [](LeveledLayer &layer) { return layer.backward.empty(); });
  return layers;
}

/// Sets the levels at which each use of one layer's values occurs, and adds the
/// uses and values that exist only at some level.
class LevelWriter {
public:
  LevelWriter(LeveledLayer layer, const ValueNumbers &values, Problem &problem)
      : layer(layer), values(values), problem(problem) {}

  void write() {
    // Level 0 is the graph as it is; at other levels, some forward values that
    // the backward reads are recomputed instead of kept.
    for (OpResult result : layer.forward->getResults())
      for (LayerPhase *use : ownUses(result))
        use->levels = 1;
    for (int64_t number = 1; number <= layer.numLevels(); ++number)
      write(layer.level(number), uint32_t(1) << number);
  }

private:
  void write(LevelAttr level, uint32_t bit) {
    ArrayRef<int64_t> remade = level.getRemade();
    for (OpResult result : layer.forward->getResults())
      if (!llvm::is_contained(remade, int64_t(result.getResultNumber())))
        for (LayerPhase *use : ownUses(result))
          use->levels |= bit;
    for (int64_t input : level.getInputs().asArrayRef()) {
      if (input < 0)
        addUse(layer.forward->getOperand(unsigned(-1 - input)), bit);
      else if (int64_t result = level.getResults()[input]; result >= 0)
        addUse(layer.forward->getResult(unsigned(result)), bit);
    }
    auto forward = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        layer.forward, level.getForward());
    for (auto [number, type] :
         llvm::zip(level.getResults().asArrayRef(), forward.getResultTypes()))
      if (number < 0)
        problem.values.push_back({Bytes(bytesOf(type)),
                                  {layer.number(), ActionKind::Forward},
                                  {{layer.number(), layer.when(), bit}}});
    // A value recomputed for a later part of the backward is kept until then.
    for (int64_t number : remade) {
      OpResult result = layer.forward->getResult(unsigned(number));
      for (NodeOp reader : ArrayRef(layer.backward).drop_front())
        if (llvm::is_contained(reader.getInputs(), result)) {
          problem.values.push_back(
              {Bytes(bytesOf(result.getType())),
               {layer.number(), layer.when()},
               {{layer.number(), actionPhase(reader.getPhase()), bit}}});
          break;
        }
    }
  }

  /// Uses of `result` by the backward of the layer.
  SmallVector<LayerPhase *> ownUses(OpResult result) {
    SmallVector<LayerPhase *> uses;
    if (auto found = values.find(result); found != values.end())
      for (LayerPhase &use : problem.values[found->second].uses)
        if (use.layer == layer.number() && use.phase != ActionKind::Forward)
          uses.push_back(&use);
    return uses;
  }

  void addUse(mlir::Value value, uint32_t bit) {
    auto found = values.find(value);
    if (found == values.end()) // An argument of the step.
      return;
    std::vector<LayerPhase> &uses = problem.values[found->second].uses;
    for (LayerPhase &use : uses)
      if (use.layer == layer.number() && use.phase == layer.when()) {
        use.levels |= bit;
        return;
      }
    uses.push_back({layer.number(), layer.when(), bit});
  }

  LeveledLayer layer;
  const ValueNumbers &values;
  Problem &problem;
};

/// Seconds of `level`, by device class.
std::vector<Seconds> secondsOf(LevelAttr level, ArrayRef<std::string> classes) {
  std::vector<Seconds> seconds;
  DictionaryAttr known = level.getCost().getSeconds();
  for (const std::string &name : classes) {
    auto time = known ? known.getAs<FloatAttr>(name) : FloatAttr();
    seconds.push_back(Seconds(time ? time.getValueAsDouble() : 0));
  }
  return seconds;
}

/// Bytes that `level` recomputes for the first part of the backward.
int64_t remadeBytes(LeveledLayer &layer, LevelAttr level) {
  int64_t bytes = 0;
  for (int64_t number : level.getRemade().asArrayRef()) {
    OpResult result = layer.forward->getResult(unsigned(number));
    if (llvm::is_contained(layer.backward.front().getInputs(), result))
      bytes += bytesOf(result.getType());
  }
  return bytes;
}

/// Max temporary bytes of the layer's nodes at a level, for one of the
/// `samples` samples of a microbatch (1: for all of it). `workspaces`: those of
/// the forward and of the recomputation at that level; null if the forward is
/// unchanged. `remade`: bytes recomputed for the backward. `own`: temporary
/// bytes of a node as it is; `changed`: those of the forward with the given
/// workspace.
int64_t temporariesAt(LeveledLayer &layer, const HandedOver &handed,
                      DenseI64ArrayAttr workspaces, int64_t remade,
                      int64_t samples, function_ref<int64_t(NodeOp)> own,
                      function_ref<int64_t(int64_t)> changed) {
  int64_t most = workspaces ? changed(workspaces[0]) : own(layer.forward);
  // What waits for the backward is held while it recomputes.
  most = std::max(most, remade + (workspaces ? workspaces[1] : 0) +
                            handed.before(layer.backward.front()) / samples);
  for (NodeOp node : layer.backward)
    most = std::max(most, own(node) + remade);
  return most;
}

} // namespace

void addLevels(GraphOp graph, const ValueNumbers &values,
               const HandedOver &handed, Problem &problem) {
  std::vector<std::string> classes = problem.cluster.classes();
  for (LeveledLayer &layer : leveledLayers(graph)) {
    LevelWriter(layer, values, problem).write();
    for (int64_t number = 1; number <= layer.numLevels(); ++number) {
      LevelAttr level = layer.level(number);
      int64_t bytes = temporariesAt(
          layer, handed, level.getWorkspaces(), remadeBytes(layer, level),
          /*samples=*/1,
          [&](NodeOp node) {
            return handed.temporariesOf(node, node.getWorkspace());
          },
          [&](int64_t workspace) {
            return handed.temporariesOf(layer.forward, workspace);
          });
      problem.layers[layer.number()].levels.push_back(
          {secondsOf(level, classes), Bytes(bytes), {}});
    }
  }
}

void addSampleTemporaries(GraphOp graph, const HandedOver &handed,
                          Problem &problem) {
  int64_t samples = std::max<int64_t>(1, problem.samples);
  for (LeveledLayer &layer : leveledLayers(graph))
    for (int64_t number = 1; number <= layer.numLevels(); ++number) {
      LevelAttr level = layer.level(number);
      if (!level.getSampleWorkspaces())
        continue;
      problem.layers[layer.number()].levels[number - 1].sampleTemporaries =
          Bytes(temporariesAt(
              layer, handed, level.getSampleWorkspaces(),
              remadeBytes(layer, level) / samples, samples,
              [&](NodeOp node) {
                return handed.temporariesOf(node, node.getSampleWorkspace(),
                                            samples);
              },
              [&](int64_t workspace) {
                return handed.temporariesOf(layer.forward, workspace, samples);
              }));
    }
}

} // namespace stagewright::pipeline
