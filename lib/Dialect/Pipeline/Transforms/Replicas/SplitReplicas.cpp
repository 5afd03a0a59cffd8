//===- SplitReplicas.cpp - pipeline-split-replicas ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../WriteProgram.h"
#include "GraphSplitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SPLITREPLICAS
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

static auto stagesOf(ProgramOp program) {
  return llvm::to_vector(program.getBody().front().getOps<StageOp>());
}

namespace {
/// Splits one program, its graph and its schedules.
class Splitter {
public:
  Splitter(ProgramOp program, SymbolTable &symbols)
      : program(program), graph(graphOf(program)), symbols(symbols) {}

  LogicalResult check();
  void split();
  int64_t numSliced = 0; ///< Stages with slices.

private:
  LogicalResult checkStage(StageOp stage, const GraphRows &rows);
  LogicalResult checkDevices();
  ProgramOp writeProgram(GraphOp graph, const GraphSplitter &splitter);
  void writeOrders(ScheduleOp schedule, ProgramOp replaced);

  ProgramOp program;
  GraphOp graph;
  SymbolTable &symbols;
  std::unique_ptr<GraphRows> rows;
  SmallVector<SmallVector<Samples>> shares; ///< By stage.
  SmallVector<int64_t> firstStage; ///< By stage: first stage of its replicas.
  /// By device: the rank whose order it runs, and the number of its replica.
  llvm::StringMap<std::pair<int64_t, int64_t>> standsFor;
};
} // namespace

/// Checks that a sliced stage shares all or none of its devices with another
/// stage, in the same order.
LogicalResult Splitter::checkDevices() {
  for (StageOp a : stagesOf(program))
    for (StageOp b : stagesOf(program)) {
      if ((!a.getRows() && !b.getRows()) || a.getDevices() == b.getDevices())
        continue;
      for (Attribute device : a.getDevices())
        if (llvm::is_contained(b.getDevices(), device))
          return (a.emitOpError()
                  << "shares device " << device << " with stage "
                  << b.getIndex() << ", which has another list of devices; a "
                  << "stage whose replicas work on slices shares all of its "
                  << "devices, in the same order, or none")
                     .attachNote(b.getLoc())
                 << "the other stage is declared here";
    }
  return success();
}

LogicalResult Splitter::checkStage(StageOp stage, const GraphRows &rows) {
  if (rows.samples == 0)
    return (stage.emitOpError() << "cannot be sliced: " << rows.mix->reason)
               .attachNote(rows.mix->loc)
           << "the step is declared here";
  int64_t sum = 0;
  for (int64_t count : stage.getRowsAttr().asArrayRef())
    sum += count;
  if (sum != rows.samples)
    return stage.emitOpError() << "gives its replicas " << sum
                               << " samples, a microbatch has " << rows.samples;
  for (int64_t layer : stage.getLayers())
    if (auto mix = rows.mixes.find(layer); mix != rows.mixes.end())
      return (stage.emitOpError()
              << "cannot be sliced: layer '" << graph.getLayerName(layer)
              << "' mixes rows of the batch; leave out 'rows' of the stage, so "
              << "that its replicas take whole microbatches in turn")
                 .attachNote(mix->second.loc)
             << mix->second.reason;
  return success();
}

LogicalResult Splitter::check() {
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
    if (!node.getCallee())
      return emitError(node.getLoc())
             << "node '" << node.getNodeName() << "' has no body; a graph of "
             << "costs alone can be planned but not run";
  rows = std::make_unique<GraphRows>(rowsOf(graph));
  for (StageOp stage : stagesOf(program)) {
    firstStage.push_back(
        firstStage.empty() ? 0
                           : firstStage.back() + int64_t(shares.back().size()));
    SmallVector<Samples> &own = shares.emplace_back();
    if (!stage.getRows()) {
      own.push_back({0, rows->samples});
      continue;
    }
    if (failed(checkStage(stage, *rows)))
      return failure();
    for (int64_t count : stage.getRowsAttr().asArrayRef())
      own.push_back({own.empty() ? 0 : own.back().end(), count});
    ++numSliced;
  }
  return checkDevices();
}

ProgramOp Splitter::writeProgram(GraphOp graph, const GraphSplitter &splitter) {
  OpBuilder builder(program);
  auto made = cast<ProgramOp>(builder.cloneWithoutRegions(*program));
  builder.createBlock(&made.getBody());
  SmallVector<int64_t> stageOfLayer(graph.getNumLayers());
  for (StageOp stage : stagesOf(program)) {
    int64_t old = stage.getIndex(), count = splitter.replicasOf(old);
    for (int64_t replica = 0; replica < count; ++replica) {
      auto copy = cast<StageOp>(builder.clone(*stage));
      copy.setIndex(firstStage[old] + replica);
      SmallVector<int64_t> layers;
      for (int64_t layer : stage.getLayers()) {
        layers.push_back(splitter.layerOf(layer, replica));
        stageOfLayer[layers.back()] = firstStage[old] + replica;
      }
      copy.setLayers(layers);
      if (std::optional<ArrayRef<int64_t>> offload = stage.getOffload())
        copy.setOffload(llvm::map_to_vector(*offload, [&](int64_t layer) {
          return splitter.layerOf(layer, replica);
        }));
      copy.removeRowsAttr();
      if (!stage.getRows())
        continue;
      copy.setDevicesAttr(builder.getArrayAttr({stage.getDevices()[replica]}));
      copy.setReplicaOfAttr(builder.getDenseI64ArrayAttr(
          {old, replica, count, shares[old][replica].count, rows->samples}));
    }
  }
  writeBoundaries(builder, graph, stageOfLayer);
  return made;
}

/// Writes the orders: every device of a sliced stage runs the order of its
/// first device, for its own replica.
void Splitter::writeOrders(ScheduleOp schedule, ProgramOp replaced) {
  auto orders = llvm::to_vector(schedule.getBody().front().getOps<OrderOp>());
  OpBuilder builder(schedule.getContext());
  auto made = cast<ScheduleOp>(schedule->cloneWithoutRegions());
  builder.createBlock(&made.getBody());
  for (auto [rank, device] : llvm::enumerate(devicesOfRanks(replaced))) {
    auto [from, replica] = standsFor.lookup(device);
    Order order = orders[from].getActions();
    for (Action &action : order)
      action.stage = firstStage[action.stage] +
                     (shares[action.stage].size() > 1 ? replica : 0);
    OrderOp::create(builder, orders[from].getLoc(), rank, order);
  }
  if (std::optional<ArrayRef<int64_t>> credits = schedule.getCredits()) {
    SmallVector<int64_t> own;
    for (auto [stage, share] : llvm::enumerate(shares))
      own.append(share.size(), (*credits)[stage]);
    made.setCredits(own);
  }
  symbols.erase(schedule);
  symbols.insert(made);
}

void Splitter::split() {
  // Collect them before there are two programs of one name.
  SmallVector<ScheduleOp> schedules;
  for (auto schedule :
       program->getParentOfType<ModuleOp>().getOps<ScheduleOp>())
    if (programOf(schedule) == program)
      schedules.push_back(schedule);
  SmallVector<int64_t> stageOfLayer = stageOfLayers(program);
  GraphSplitter splitter(graph, *rows, stageOfLayer, shares, symbols);
  GraphOp newGraph = splitter.build();
  SmallVector<StringRef> ranks = devicesOfRanks(program);
  for (auto [rank, device] : llvm::enumerate(ranks))
    standsFor[device] = {rank, 0};
  for (StageOp stage : stagesOf(program))
    if (stage.getRows())
      for (auto [replica, device] :
           llvm::enumerate(stage.getDevices().getAsRange<FlatSymbolRefAttr>()))
        standsFor[device.getValue()] = {
            llvm::find(
                ranks,
                cast<FlatSymbolRefAttr>(stage.getDevices()[0]).getValue()) -
                ranks.begin(),
            replica};
  ProgramOp newProgram = writeProgram(newGraph, splitter);
  for (ScheduleOp schedule : schedules)
    writeOrders(schedule, newProgram);
  program.erase();
  graph.erase();
}

namespace {
struct SplitReplicasPass : impl::SplitReplicasBase<SplitReplicasPass> {
  using SplitReplicasBase::SplitReplicasBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::StringSet<> before = calledIn(module);
    for (ProgramOp program : llvm::to_vector(module.getOps<ProgramOp>())) {
      if (llvm::none_of(stagesOf(program),
                        [](StageOp stage) { return stage.getRows(); }))
        continue;
      Splitter splitter(program, symbols);
      if (failed(splitter.check()))
        return signalPassFailure();
      splitter.split();
      numStages += splitter.numSliced;
    }
    removeUncalled(module, before);
  }

  static llvm::StringSet<> calledIn(ModuleOp module) {
    llvm::StringSet<> called;
    module.walk([&](NodeOp node) {
      if (node.getCallee())
        called.insert(*node.getCallee());
    });
    return called;
  }

  /// Removes the bodies that nodes called before and none calls now.
  static void removeUncalled(ModuleOp module, const llvm::StringSet<> &before) {
    llvm::StringSet<> called = calledIn(module);
    for (auto body : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (body.isPrivate() && before.contains(body.getName()) &&
          !called.contains(body.getName()))
        body.erase();
  }
};
} // namespace
} // namespace stagewright::pipeline
