//===- Routes.cpp - a copy of the graph for every route -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The route of a microbatch states, for every stage, the rank that runs the
// stage and whether its forward runs again before its backward. Microbatches of
// one route share a copy of the nodes. Copies share parameters. Each copy
// yields its own part of every gradient and loss; an all-reduce (Buckets.cpp)
// or the rank that owns the result (Placer::chooseOwner()) adds the parts once
// per step, as for a parameter that several stages use. Results that are joined
// over microbatches stay where they are made.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Routes.h"
#include "RankPlan.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::torank {

namespace {
/// Copies the nodes of the graph of `plan` for every route.
class Router {
public:
  explicit Router(Plan &plan)
      : plan(plan), yield(cast<pipeline::YieldOp>(
                        plan.graph.getBody().front().getTerminator())) {}
  void run();

private:
  void readRoutes();
  void findPipelines();
  void cloneNodes();
  void yieldParts();
  void recompute(int64_t copy, int64_t stage);

  bool isOf(pipeline::NodeOp node, int64_t copy, int64_t stage) {
    return plan.copyOf.lookup(node) == copy &&
           plan.stageOfLayer[node.getLayer()] == stage;
  }
  auto nodes() {
    return llvm::to_vector(
        plan.graph.getBody().front().getOps<pipeline::NodeOp>());
  }

  Plan &plan;
  pipeline::YieldOp yield;
  std::vector<Route> routes;   ///< By copy.
  std::vector<IRMapping> maps; ///< By copy: from values of the first copy.
};
} // namespace

void Router::readRoutes() {
  routes = routesOf(plan.data);
  for (const Route &route : routes) {
    plan.microbatchesOf.push_back(route.microbatches);
    for (const Stop &stop : route.stops)
      plan.rankOfStage.push_back(stop.rank);
  }
  findPipelines();
}

/// Finds parallel pipelines: each stage is on p ranks, and microbatch m uses
/// only the ranks of pipeline m % p.
void Router::findPipelines() {
  plan.pipelineOfRank.assign(plan.data.ranks.size(), 0);
  llvm::SmallDenseSet<int64_t> first; // Ranks of stage 0.
  for (const Route &route : routes)
    first.insert(route.stops.front().rank);
  int64_t count = first.size();
  std::vector<int64_t> pipelineOf(plan.data.ranks.size(), -1);
  for (const Route &route : routes)
    for (int64_t microbatch : route.microbatches)
      for (const Stop &stop : route.stops) {
        int64_t &known = pipelineOf[stop.rank];
        if (known >= 0 && known != microbatch % count)
          return;
        known = microbatch % count;
      }
  // Each stage must be on exactly `count` ranks.
  for (int64_t stage = 0; stage < plan.numStages; ++stage) {
    llvm::SmallDenseSet<int64_t> ranks;
    for (const Route &route : routes)
      ranks.insert(route.stops[size_t(stage)].rank);
    if (int64_t(ranks.size()) != count)
      return;
  }
  if (llvm::is_contained(pipelineOf, -1)) // A rank without work.
    return;
  plan.pipelines = count;
  plan.pipelineOfRank = std::move(pipelineOf);
}

void Router::cloneNodes() {
  OpBuilder builder(yield);
  SmallVector<pipeline::NodeOp> originals = nodes();
  maps.resize(routes.size());
  for (size_t copy = 1; copy < routes.size(); ++copy)
    for (pipeline::NodeOp node : originals)
      plan.copyOf[builder.clone(*node, maps[copy])] = copy;
}

/// Adds the values of all copies to the results. Summed and joined results get
/// a part from each; a result of the last microbatch only from the copy that
/// runs it.
void Router::yieldParts() {
  SmallVector<Value> values;
  SmallVector<int64_t> results;
  for (size_t copy = 0; copy < routes.size(); ++copy)
    for (auto [value, result] :
         llvm::zip(yield.getValues(), yield.getResults())) {
      // A result that is an argument is yielded once: Placer::passThrough()
      // finds the copies that write it.
      bool isMissing =
          isa<BlockArgument>(value)
              ? copy > 0
              : plan.combineOf(result) == pipeline::Combine::Last &&
                    plan.microbatchesOf[copy].back() + 1 !=
                        plan.data.microbatches;
      if (isMissing)
        continue;
      values.push_back(maps[copy].lookupOrDefault(value));
      results.push_back(result);
    }
  OpBuilder builder(yield);
  auto parts = pipeline::YieldOp::create(builder, yield.getLoc(), values,
                                         builder.getDenseI64ArrayAttr(results));
  yield.erase();
  yield = parts;
}

/// Clones the forward nodes of a stage that its backward reads, directly or
/// through others, as nodes of phase R, and lets the backward read those.
void Router::recompute(int64_t copy, int64_t stage) {
  SmallVector<pipeline::NodeOp> forwards, backwards;
  for (pipeline::NodeOp node : nodes())
    if (isOf(node, copy, stage))
      (node.getPhase() == ActionKind::Forward ? forwards : backwards)
          .push_back(node);
  llvm::SmallSetVector<Operation *, 16> needed;
  auto need = [&](pipeline::NodeOp reader) {
    for (Value input : reader.getInputs())
      if (Operation *maker = input.getDefiningOp();
          maker &&
          llvm::is_contained(forwards,
                             pipeline::NodeOp(cast<pipeline::NodeOp>(maker))))
        needed.insert(maker);
  };
  for (pipeline::NodeOp node : backwards)
    need(node);
  for (pipeline::NodeOp node : llvm::reverse(forwards))
    if (needed.contains(node))
      need(node);
  IRMapping map;
  for (pipeline::NodeOp node : forwards) {
    if (!needed.contains(node))
      continue;
    OpBuilder builder(node->getContext());
    builder.setInsertionPointAfter(node);
    auto again = cast<pipeline::NodeOp>(builder.clone(*node, map));
    again.setPhase(ActionKind::Recompute);
    plan.copyOf[again] = copy;
  }
  for (pipeline::NodeOp node : backwards)
    for (OpOperand &input : node->getOpOperands())
      input.set(map.lookupOrDefault(input.get()));
}

void Router::run() {
  readRoutes();
  cloneNodes();
  yieldParts();
  for (size_t copy = 0; copy < routes.size(); ++copy)
    for (size_t stage = 0; stage < routes[copy].stops.size(); ++stage)
      if (routes[copy].stops[stage].recomputes)
        recompute(copy, stage);
}

void makeRoutes(Plan &plan) { Router(plan).run(); }

} // namespace stagewright::torank
