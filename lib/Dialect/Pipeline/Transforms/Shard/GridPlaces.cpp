//===- GridPlaces.cpp - levels and shards on a grid -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlaces.h"
#include "GridGraph.h"
#include "SplitFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include <map>

namespace stagewright::pipeline {
void noteShards(func::FuncOp step, unsigned axis) {
  for (Operation &op : step.getBody().front()) {
    auto name = dyn_cast<NameLoc>(op.getLoc());
    auto place = name ? shardPlaceIn(name.getName()) : std::nullopt;
    NotedLocation noted(place ? name.getChildLoc() : op.getLoc());
    noted.setNote(axis, place ? place->shard : -1);
    op.setLoc(noted.withNotes());
  }
}

void writeSumsAsLoops(func::FuncOp step) {
  for (Operation &op : llvm::make_early_inc_range(
           step.getBody().front().without_terminator())) {
    auto type = op.getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                    : nullptr;
    bool isSum = isa<arith::AddFOp, arith::AddIOp>(op);
    // linalg.add computes i1 by or, arith.addi by exclusive or; linalg.add and
    // linalg.max do not support the element type index.
    if (!type || !type.hasStaticShape() ||
        !type.getElementType().isIntOrFloat() ||
        type.getElementType().isInteger(1) ||
        !(isSum || isa<arith::MaximumFOp, arith::MaxSIOp>(op)))
      continue;
    OpBuilder builder(&op);
    Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                          type.getElementType());
    Operation *made = isSum ? linalg::AddOp::create(builder, op.getLoc(),
                                                    op.getOperands(), empty)
                                  .getOperation()
                            : linalg::MaxOp::create(builder, op.getLoc(),
                                                    op.getOperands(), empty);
    made->setDiscardableAttrs(op.getDiscardableAttrDictionary());
    op.replaceAllUsesWith(made);
    op.erase();
  }
}

FailureOr<Layers> layersOfGrid(const StepGraph &graph) {
  FunctionOpInterface step = graph.step;
  auto grid = step->getAttrOfType<DenseI64ArrayAttr>(PipelineDialect::kGrid);
  int64_t ways = grid ? 1 : 0;
  for (int64_t size : grid ? grid.asArrayRef() : ArrayRef<int64_t>())
    ways = size > 0 && size <= kMostWays && ways <= kMostWays ? ways * size : 0;
  std::map<int64_t, std::string> scopes; // By level.
  std::vector<std::optional<ShardPlace>> places;
  for (const StepOp &entry : graph.ops) {
    auto &place = places.emplace_back();
    if (!entry.isChained() && !entry.isBackward())
      continue;
    auto name = dyn_cast<NameLoc>(entry.op->getLoc());
    place = name ? shardPlaceIn(name.getName()) : std::nullopt;
    if (!place || place->shard < 0 || place->shard >= ways)
      return emitError(entry.op->getLoc())
             << "operation is at no level and shard of the grid of @"
             << step.getName() << "; form the graph right after pipeline-shard";
    scopes.try_emplace(place->level, scopeIn(name.getName()));
  }
  if (scopes.empty()) { // Every step has a layer.
    scopes.try_emplace(0, "step");
    ways = std::max<int64_t>(ways, 1);
  }
  Layers layers;
  layers.byScope = true;
  std::map<int64_t, int64_t> firsts; // By level: its first layer.
  for (const auto &[level, scope] : scopes) {
    firsts[level] = layers.size();
    for (int64_t shard = 0; shard < ways; ++shard)
      layers.names.push_back(layerName(scope, {level, shard}));
  }
  for (const auto &place : places)
    layers.layerOf.push_back(place ? int(firsts[place->level] + place->shard)
                                   : -1);
  return layers;
}

} // namespace stagewright::pipeline
