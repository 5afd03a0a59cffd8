//===- WriteProgram.cpp - a plan as a program -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteProgram.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/PlanData.h"

namespace stagewright::pipeline {

void writeBoundaries(OpBuilder &builder, GraphOp graph,
                     ArrayRef<int64_t> stageOfLayer) {
  for (const Crossing &crossing : crossingsOf(graph, stageOfLayer)) {
    auto node = cast<NodeOp>(crossing.value.getOwner());
    BoundaryOp::create(
        builder, node.getLoc(), node.getNodeNameAttr(),
        builder.getI64IntegerAttr(crossing.value.getResultNumber()),
        builder.getI64IntegerAttr(crossing.edge.producer.stage),
        builder.getI64IntegerAttr(crossing.edge.lastUse.stage),
        TypeAttr::get(crossing.value.getType()));
  }
}

ProgramOp writeProgram(ModuleOp module, GraphOp graph, ClusterOp cluster,
                       const Problem &problem, const Plan &plan,
                       StringRef schedule) {
  OpBuilder builder(module.getContext());
  Location loc = graph.getLoc();
  auto promise = PlanAttr::get(builder.getContext(),
                               builder.getF64FloatAttr(plan.time.value),
                               builder.getF64FloatAttr(plan.familyBound.value),
                               builder.getStringAttr(plan.planner),
                               builder.getF64FloatAttr(plan.planBound.value),
                               builder.getStringAttr(schedule));
  auto program =
      ProgramOp::create(builder, loc, builder.getStringAttr("plan"),
                        FlatSymbolRefAttr::get(graph.getSymNameAttr()),
                        FlatSymbolRefAttr::get(cluster.getSymNameAttr()),
                        builder.getI64IntegerAttr(problem.microbatches),
                        promise, AveragingAttr());
  builder.createBlock(&program.getBody());
  SmallVector<int64_t> stageOfLayer(problem.layers.size());
  for (auto [index, stage] : llvm::enumerate(plan.stages)) {
    SmallVector<int64_t> layers;
    for (int64_t layer : stage.layers) {
      layers.push_back(layer);
      stageOfLayer[layer] = index;
    }
    SmallVector<Attribute> devices;
    for (size_t device : stage.devices)
      devices.push_back(FlatSymbolRefAttr::get(
          builder.getContext(), problem.cluster.devices[device].name));
    StageOp::create(
        builder, loc, builder.getI64IntegerAttr(index),
        builder.getArrayAttr(devices), builder.getDenseI64ArrayAttr(layers),
        stage.recompute ? builder.getUnitAttr() : UnitAttr(),
        builder.getStringAttr(toString(stage.binding)),
        stage.rows.empty() ? DenseI64ArrayAttr()
                           : builder.getDenseI64ArrayAttr(stage.rows),
        /*replica_of=*/DenseI64ArrayAttr(),
        stage.levels.empty() ? DenseI64ArrayAttr()
                             : builder.getDenseI64ArrayAttr(stage.levels),
        stage.offload.empty() ? DenseI64ArrayAttr()
                              : builder.getDenseI64ArrayAttr(stage.offload),
        stage.gangStage ? builder.getI64IntegerAttr(*stage.gangStage)
                        : IntegerAttr());
  }
  writeBoundaries(builder, graph, stageOfLayer);
  SymbolTable(module).insert(program);
  return program;
}

void eraseUncalled(ModuleOp module, const llvm::StringSet<> &names) {
  llvm::StringSet<> called;
  for (GraphOp graph : module.getOps<GraphOp>())
    for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
      if (node.getCalleeAttr())
        called.insert(*node.getCallee());
  for (auto body : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (names.contains(body.getName()) && !called.contains(body.getName()))
      body.erase();
}

} // namespace stagewright::pipeline
