//===- RowsOfGraph.cpp - rows through the nodes of a graph ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Rows.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"

namespace stagewright::pipeline {

/// The batch dimension of argument `number`, if it is a batch.
static std::optional<int64_t> batchDimension(GraphOp graph, unsigned number) {
  auto type = dyn_cast<RankedTensorType>(graph.getArgumentTypes()[number]);
  if (argumentRole(graph, number).value_or(Role::Batch) != Role::Batch ||
      !type || type.getRank() == 0)
    return std::nullopt;
  auto dim =
      graph.getArgAttrOfType<IntegerAttr>(number, PipelineDialect::kBatchDim);
  int64_t found = dim ? dim.getInt() : 0;
  if (found < 0 || found >= type.getRank())
    return std::nullopt;
  return found;
}

/// Finds the samples of a microbatch and the kinds of the arguments.
static void readArguments(GraphOp graph, GraphRows &rows) {
  auto extent = [&](unsigned number) {
    auto type = cast<RankedTensorType>(graph.getArgumentTypes()[number]);
    return type.getDimSize(*batchDimension(graph, number));
  };
  SmallVector<unsigned> batches;
  for (unsigned i = 0; i < graph.getNumArguments(); ++i)
    if (batchDimension(graph, i))
      batches.push_back(i);
  if (batches.empty()) {
    rows.mix = RowMix{graph.getLoc(), "the step has no batch argument"};
    return;
  }
  int64_t samples = extent(batches.front());
  for (unsigned number : batches)
    samples = std::min(samples, extent(number));
  for (unsigned number : batches)
    if (samples < 1 || extent(number) % samples != 0) {
      rows.mix = RowMix{graph.getLoc(),
                        "batch arguments have " + std::to_string(samples) +
                            " and " + std::to_string(extent(number)) + " rows"};
      return;
    }
  if (samples == 1) {
    rows.mix = RowMix{graph.getLoc(), "a microbatch has one sample"};
    return;
  }
  rows.samples = samples;
  for (unsigned number : batches)
    rows.kinds[graph.getArgument(number)] = {RowKind::Rows,
                                             *batchDimension(graph, number),
                                             extent(number) / samples};
}

static BodyRows &rowsOfNode(NodeOp node, func::FuncOp body, GraphRows &rows) {
  std::vector<RowKind> inputs;
  for (mlir::Value input : node.getInputs())
    inputs.push_back(rows.kinds.lookup(input));
  auto &known = rows.known[{body, inputs}];
  if (!known)
    known = std::make_unique<BodyRows>(rowsOf(body, inputs, rows.samples));
  return *known;
}

GraphRows rowsOf(GraphOp graph) {
  GraphRows rows;
  readArguments(graph, rows);
  SymbolTable symbols(graph->getParentOfType<ModuleOp>());
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
    int64_t layer = node.getLayer();
    if (rows.mix && node.getCallee())
      rows.mixes.try_emplace(layer, *rows.mix);
    if (node.getSliceable() == false)
      rows.mixes.try_emplace(
          layer, RowMix{node.getLoc(),
                        node.getMixes()
                            .value_or("it is said to mix rows of the batch")
                            .str()});
    if (!node.getCallee() || rows.samples == 0)
      continue;
    auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
    if (!body || body.isExternal() || !body.getBody().hasOneBlock()) {
      rows.mixes.try_emplace(
          layer,
          RowMix{node.getLoc(), "its body is not a function of one block"});
      continue;
    }
    BodyRows &inside = rowsOfNode(node, body, rows);
    rows.bodies[node] = &inside;
    if (inside.mix)
      rows.mixes.try_emplace(layer, *inside.mix);
    for (auto [result, kind] : llvm::zip(node.getOutputs(), inside.results))
      if (kind != RowKind())
        rows.kinds[result] = kind;
  }
  return rows;
}

} // namespace stagewright::pipeline
