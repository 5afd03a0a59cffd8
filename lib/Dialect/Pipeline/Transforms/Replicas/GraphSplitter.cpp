//===- GraphSplitter.cpp - a graph with nodes per replica -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphSplitter.h"
#include "stagewright/Dialect/Pipeline/IR/Annotation.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"

namespace stagewright::pipeline {

GraphSplitter::GraphSplitter(GraphOp graph, GraphRows &rows,
                             ArrayRef<int64_t> stageOfLayer,
                             ArrayRef<SmallVector<Samples>> shares,
                             SymbolTable &symbols)
    : graph(graph), rows(rows), stageOfLayer(stageOfLayer), shares(shares),
      symbols(symbols), builder(graph.getContext()) {
  int64_t next = 0;
  for (int64_t stage : stageOfLayer) {
    firstLayer.push_back(next);
    next += replicasOf(stage);
  }
}

std::string GraphSplitter::nameFor(StringRef name, int64_t stage,
                                   int64_t replica) {
  std::string base = name.str();
  if (replicasOf(stage) > 1)
    base += ".r" + std::to_string(replica);
  std::string unique = base;
  for (int64_t i = 1; !names.insert(unique).second; ++i)
    unique = base + "." + std::to_string(i);
  return unique;
}

/// Phase and layer of the use of `value` in `stage` that runs first. The phases
/// are ordered F, then I and B, then W.
GraphSplitter::Place GraphSplitter::firstUse(mlir::Value value,
                                             int64_t stage) const {
  auto order = [](ActionKind phase) {
    return phase == ActionKind::Forward          ? 0
           : phase == ActionKind::WeightGradient ? 2
                                                 : 1;
  };
  std::optional<Place> first;
  for (Operation *user : value.getUsers()) {
    auto node = dyn_cast<NodeOp>(user);
    if (!node || stageOf(node) != stage)
      continue;
    Place here = {node.getPhase(), int64_t(node.getLayer())};
    bool earlier = !first || order(here.phase) < order(first->phase);
    if (first && order(here.phase) == order(first->phase))
      earlier = here.phase == ActionKind::Forward ? here.layer < first->layer
                                                  : here.layer > first->layer;
    if (earlier)
      first = here;
  }
  return *first;
}

mlir::Value GraphSplitter::call(func::FuncOp function, StringRef name, Place at,
                                int64_t replica, ValueRange inputs,
                                Location loc) {
  symbols.insert(function);
  auto node =
      NodeOp::create(builder, loc, function.getFunctionType().getResults(),
                     nameFor(name, stageOfLayer[at.layer], replica),
                     FlatSymbolRefAttr::get(function), at.phase,
                     layerOf(at.layer, replica), inputs);
  return node->getResult(0);
}

/// The rows of `samples` in the part of `value` that replica `maker` makes.
mlir::Value GraphSplitter::partOf(mlir::Value value, int64_t maker,
                                  Samples samples) {
  auto node = value.getDefiningOp<NodeOp>();
  Samples has = shares[stageOf(node)][maker];
  if (has == samples)
    return made[value][maker];
  mlir::Value &part = parts[{value.getAsOpaquePointer(), maker, samples}];
  if (!part)
    part =
        call(makeSlice(value.getLoc(), cast<RankedTensorType>(value.getType()),
                       rows.kinds.lookup(value), has, samples),
             (node.getNodeName() + ".slice").str(),
             {node.getPhase(), int64_t(node.getLayer())}, maker,
             made[value][maker], value.getLoc());
  return part;
}

mlir::Value GraphSplitter::rowsOf(mlir::Value value, Samples samples, Place at,
                                  int64_t replica) {
  SmallVector<mlir::Value> inputs;
  SmallVector<Samples> ranges;
  for (auto [maker, has] : llvm::enumerate(shares[makerOf(value)])) {
    int64_t first = std::max(has.first, samples.first);
    int64_t end = std::min(has.end(), samples.end());
    if (first >= end)
      continue;
    ranges.push_back({first, end - first});
    inputs.push_back(partOf(value, maker, ranges.back()));
  }
  if (inputs.size() == 1)
    return inputs.front();
  auto node = value.getDefiningOp<NodeOp>();
  return call(makeJoin(value.getLoc(), cast<RankedTensorType>(value.getType()),
                       rows.kinds.lookup(value), ranges),
              (node.getNodeName() + ".join").str(), at, replica, inputs,
              value.getLoc());
}

/// The sum of the parts of `value` of replicas first, first + step, ...
mlir::Value GraphSplitter::sumOf(mlir::Value value, int64_t first, int64_t step,
                                 Place at, int64_t replica) {
  SmallVector<mlir::Value> inputs;
  for (size_t maker = first; maker < made[value].size(); maker += step)
    inputs.push_back(made[value][maker]);
  if (inputs.size() == 1)
    return inputs.front();
  auto node = value.getDefiningOp<NodeOp>();
  return call(makeSum(value.getLoc(), cast<RankedTensorType>(value.getType()),
                      inputs.size()),
              (node.getNodeName() + ".sum").str(), at, replica, inputs,
              value.getLoc());
}

mlir::Value GraphSplitter::received(mlir::Value value, int64_t stage,
                                    int64_t replica) {
  switch (rows.kinds.lookup(value).kind) {
  case RowKind::Rows:
    return rowsOf(value, shares[stage][replica], firstUse(value, stage),
                  replica);
  case RowKind::Partial:
    return sumOf(value, replica, replicasOf(stage), firstUse(value, stage),
                 replica);
  default:
    return made[value][replica % made[value].size()];
  }
}

mlir::Value GraphSplitter::valueFor(mlir::Value value, int64_t stage,
                                    int64_t replica) {
  if (isa<BlockArgument>(value) || makerOf(value) == stage)
    return made[value][isa<BlockArgument>(value) ? 0 : replica];
  mlir::Value &known = got[{value.getAsOpaquePointer(), stage, replica}];
  if (!known)
    known = received(value, stage, replica);
  return known;
}

func::FuncOp GraphSplitter::bodyFor(NodeOp node, int64_t replica) {
  auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
  int64_t stage = stageOf(node);
  if (replicasOf(stage) == 1)
    return body;
  BodyRows *inside = rows.bodies.lookup(node);
  std::vector<bool> whole;
  for (mlir::Value input : node.getInputs())
    whole.push_back(isa<BlockArgument>(input));
  Samples samples = shares[stage][replica];
  func::FuncOp &made = bodies[{inside, samples, whole}];
  if (made)
    return made;
  narrowWholes(body, *inside);
  made = takeRows(body, *inside, samples,
                  SmallVector<bool>(whole.begin(), whole.end()));
  made.setName(
      (body.getName() + ".rows" + std::to_string(samples.count)).str());
  symbols.insert(made, Block::iterator(body));
  return made;
}

void GraphSplitter::addNode(NodeOp node, int64_t replica) {
  int64_t stage = stageOf(node);
  SmallVector<mlir::Value> inputs;
  for (mlir::Value input : node.getInputs())
    inputs.push_back(valueFor(input, stage, replica));
  func::FuncOp body = bodyFor(node, replica);
  auto copy = NodeOp::create(
      builder, node.getLoc(), body.getFunctionType().getResults(),
      nameFor(node.getNodeName(), stage, replica), FlatSymbolRefAttr::get(body),
      node.getPhase(), layerOf(node.getLayer(), replica), inputs);
  for (auto [old, value] : llvm::zip(node.getOutputs(), copy.getOutputs()))
    made[old].push_back(value);
}

/// A result that is summed over samples yields a part of each replica. One that
/// does not depend on the samples is yielded by the first replica. Parts of any
/// other result are joined or added, in a forward by the last replica, in a
/// backward by the first: forward values may only go to later layers, backward
/// values to earlier ones.
void GraphSplitter::addYield(YieldOp yield) {
  SmallVector<mlir::Value> values;
  SmallVector<int64_t> results;
  auto add = [&](mlir::Value value, int64_t result) {
    values.push_back(value);
    results.push_back(result);
  };
  for (auto [value, result] :
       llvm::zip(yield.getValues(), yield.getResults())) {
    RowKind kind = rows.kinds.lookup(value);
    if (isa<BlockArgument>(value) || made[value].size() == 1 ||
        kind.kind == RowKind::Whole) {
      add(made[value].front(), result);
      continue;
    }
    auto node = value.getDefiningOp<NodeOp>();
    Place at = {node.getPhase(), int64_t(node.getLayer())};
    int64_t replica =
        at.phase == ActionKind::Forward ? made[value].size() - 1 : 0;
    std::optional<Role> role = resultRole(graph, result);
    Combine combine = combineOf(graph, result).value_or(Combine::Mean);
    bool summed = (role == Role::Gradient || role == Role::Loss) &&
                  (combine == Combine::Mean || combine == Combine::Sum);
    if (kind.isRows()) {
      const auto &all = shares[stageOf(node)];
      add(rowsOf(value, {0, all.back().end()}, at, replica), result);
    } else if (summed) {
      for (mlir::Value part : made[value])
        add(part, result);
    } else {
      add(sumOf(value, 0, 1, at, replica), result);
    }
  }
  YieldOp::create(builder, yield.getLoc(), values,
                  builder.getDenseI64ArrayAttr(results));
}

GraphOp GraphSplitter::build() {
  builder.setInsertionPointAfter(graph);
  SmallVector<Attribute> layers;
  for (auto [layer, stage] : llvm::enumerate(stageOfLayer))
    for (int64_t replica = 0; replica < replicasOf(stage); ++replica) {
      std::string name = graph.getLayerName(layer).str();
      if (replicasOf(stage) > 1)
        name += ".r" + std::to_string(replica);
      layers.push_back(builder.getStringAttr(name));
    }
  auto result = cast<GraphOp>(builder.cloneWithoutRegions(*graph));
  result.setLayersAttr(builder.getArrayAttr(layers));
  // The plan already follows the annotations.
  result->removeAttr(kAnnotations);
  result->removeAttr(kShardAnnotations);
  Block &block = result.getBody().emplaceBlock();
  for (BlockArgument argument : graph.getBody().getArguments())
    made[argument].push_back(
        block.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(&block);
  for (Operation &op : graph.getBody().front()) {
    if (auto node = dyn_cast<NodeOp>(op))
      for (int64_t i = 0; i < replicasOf(stageOf(node)); ++i)
        addNode(node, i);
    else
      addYield(cast<YieldOp>(op));
  }
  return result;
}

} // namespace stagewright::pipeline
