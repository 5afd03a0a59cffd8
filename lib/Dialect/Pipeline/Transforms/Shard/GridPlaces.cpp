//===- GridPlaces.cpp - levels and shards on a grid -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlaces.h"
#include "SplitFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Analysis/Scope.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/ShardPlace.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

namespace stagewright::pipeline {
namespace {

/// A location with the shard along each axis; -1 where it is not known.
struct NotedLocation {
  explicit NotedLocation(Location location) : own(location) {
    auto fused = dyn_cast<FusedLoc>(location);
    auto noted = fused
                     ? dyn_cast_or_null<DenseI64ArrayAttr>(fused.getMetadata())
                     : nullptr;
    if (!noted)
      return;
    own = fused.getLocations().front();
    shards.assign(noted.asArrayRef().begin(), noted.asArrayRef().end());
  }
  int64_t shard(size_t axis) const {
    return axis < shards.size() ? shards[axis] : -1;
  }
  Location own;
  SmallVector<int64_t> shards;
};

/// Computes the levels of a step; the arrays are indexed by operation number.
class GridPlacer {
public:
  GridPlacer(const StepGraph &graph, ArrayRef<int64_t> grid)
      : graph(graph), grid(grid), shards(graph.ops.size()),
        levels(graph.ops.size(), -1) {}

  void place() {
    findShards();
    findForwardLevels();
    findBackwardLevels();
    name();
  }

private:
  bool isPlaced(unsigned number) const {
    return graph.ops[number].isChained() || graph.ops[number].isBackward();
  }
  /// Calls `take` with the numbers of the placed operations whose values
  /// `number` reads.
  void forReads(unsigned number, function_ref<void(unsigned)> take) const {
    for (Value operand : graph.ops[number].operands)
      if (int index = graph.indexOf(operand);
          index >= 0 && isPlaced(unsigned(index)))
        take(unsigned(index));
  }

  void findShards();
  void findForwardLevels();
  void findBackwardLevels();
  void name();

  const StepGraph &graph;
  ArrayRef<int64_t> grid;
  std::vector<int64_t> shards; ///< Row by row of the grid.
  std::vector<int64_t> levels; ///< -1: not placed.
};

// Along an axis on which an operation is shared, or was made for an argument,
// it is where its first user is, else where an operand is.
void GridPlacer::findShards() {
  for (auto [axis, size] : llvm::enumerate(grid)) {
    std::vector<int64_t> own;
    for (const StepOp &entry : graph.ops)
      own.push_back(NotedLocation(entry.op->getLoc()).shard(axis));
    for (size_t number = own.size(); number-- > 0;)
      for (unsigned user : graph.ops[number].users)
        if (own[number] < 0)
          own[number] = own[user];
    for (unsigned number = 0; number < own.size(); ++number) {
      forReads(number, [&](unsigned read) {
        if (own[number] < 0)
          own[number] = own[read];
      });
      shards[number] =
          shards[number] * size + std::max<int64_t>(own[number], 0);
    }
  }
}

void GridPlacer::findForwardLevels() {
  for (unsigned number = 0; number < levels.size(); ++number) {
    if (!graph.ops[number].isChained())
      continue;
    levels[number] = 0;
    forReads(number, [&](unsigned read) {
      bool crosses = shards[read] != shards[number];
      levels[number] = std::max(levels[number], levels[read] + crosses);
    });
  }
}

void GridPlacer::findBackwardLevels() {
  for (unsigned number = unsigned(levels.size()); number-- > 0;) {
    if (!graph.ops[number].isBackward())
      continue;
    int64_t level = 0;
    auto raise = [&](unsigned other) {
      bool crosses = shards[other] != shards[number];
      level = std::max(level, levels[other] + crosses);
    };
    forReads(number, [&](unsigned read) {
      if (graph.ops[read].isChained())
        raise(read);
    });
    for (unsigned user : graph.ops[number].users)
      if (graph.ops[user].isBackward())
        raise(user);
    levels[number] = level;
  }
}

void GridPlacer::name() {
  std::map<int64_t, std::string> names;
  for (auto [number, entry] : llvm::enumerate(graph.ops))
    if (std::string scope = llvm::join(scopeOf(entry.op->getLoc()), ".");
        entry.isChained() && !scope.empty())
      names.try_emplace(levels[number], scope);
  for (auto [number, entry] : llvm::enumerate(graph.ops)) {
    Location inner = NotedLocation(entry.op->getLoc()).own;
    if (isPlaced(unsigned(number))) {
      std::string &scope = names[levels[number]];
      std::string own = operationName(scope.empty() ? "step" : scope,
                                      {levels[number], shards[number]});
      inner = NameLoc::get(StringAttr::get(inner.getContext(), own), inner);
    }
    entry.op->setLoc(inner);
  }
}

} // namespace

void noteShards(func::FuncOp step, unsigned axis) {
  Builder builder(step.getContext());
  for (Operation &op : step.getBody().front()) {
    auto name = dyn_cast<NameLoc>(op.getLoc());
    auto place = name ? shardPlaceIn(name.getName()) : std::nullopt;
    NotedLocation noted(place ? name.getChildLoc() : op.getLoc());
    noted.shards.resize(axis + 1, -1);
    if (place)
      noted.shards[axis] = place->shard;
    op.setLoc(FusedLoc::get(builder.getContext(), {noted.own},
                            builder.getDenseI64ArrayAttr(noted.shards)));
  }
}

void writeSumsAsLoops(func::FuncOp step) {
  for (Operation &op : llvm::make_early_inc_range(
           step.getBody().front().without_terminator())) {
    auto type = op.getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                    : nullptr;
    bool isSum = isa<arith::AddFOp, arith::AddIOp>(op);
    // linalg adds i1 by or, arith by exclusive or, and linalg has no index.
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

LogicalResult placeOnGrid(func::FuncOp step, ArrayRef<int64_t> grid) {
  FailureOr<StepGraph> graph = StepGraph::create(step);
  if (failed(graph))
    return failure();
  GridPlacer(*graph, grid).place();
  step->setAttr(PipelineDialect::kGrid,
                Builder(step.getContext()).getDenseI64ArrayAttr(grid));
  return success();
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
