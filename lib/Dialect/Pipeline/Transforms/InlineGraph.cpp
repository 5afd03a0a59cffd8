//===- InlineGraph.cpp - pipeline-inline-graph ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_INLINEGRAPH
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// Adds two tensors of the same type.
static Value add(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

namespace {
struct InlineGraphPass : impl::InlineGraphBase<InlineGraphPass> {
  using InlineGraphBase::InlineGraphBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<ProgramOp, ScheduleOp>(op))
        op.erase();
    llvm::SetVector<Operation *> bodies;
    for (GraphOp graph : llvm::to_vector(module.getOps<GraphOp>()))
      if (failed(inlineNodes(graph, bodies)))
        return signalPassFailure();
    for (Operation *body : bodies)
      body->erase();
  }

private:
  LogicalResult inlineNodes(GraphOp graph,
                            llvm::SetVector<Operation *> &bodies) {
    SymbolTableCollection symbols;
    OpBuilder builder(graph);
    auto step = func::FuncOp::create(builder, graph.getLoc(), graph.getName(),
                                     graph.getFunctionType());
    step.setArgAttrsAttr(graph.getArgAttrsAttr());
    step.setResAttrsAttr(graph.getResAttrsAttr());
    builder.setInsertionPointToEnd(step.addEntryBlock());
    IRMapping values;
    values.map(graph.getArguments(), step.getArguments());
    for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
      if (!node.getCalleeAttr()) {
        step.erase();
        return emitError(node.getLoc())
               << "'" << node.getNodeName() << "' has no "
               << "body to inline; it is known by its costs "
               << "alone";
      }
      auto body = symbols.lookupNearestSymbolFrom<func::FuncOp>(
          node, node.getCalleeAttr());
      if (!body || body.isExternal()) {
        step.erase();
        return emitError(node.getLoc())
               << "'" << node.getNodeName() << "' calls "
               << node.getCalleeAttr() << ", which has no body to inline";
      }
      bodies.insert(body);
      IRMapping map;
      for (auto [argument, input] :
           llvm::zip(body.getArguments(), node.getInputs()))
        map.map(argument, values.lookup(input));
      for (Operation &op : body.getBody().front().without_terminator())
        builder.clone(op, map);
      for (auto [output, value] :
           llvm::zip(node.getOutputs(),
                     body.getBody().front().getTerminator()->getOperands()))
        values.map(output, map.lookup(value));
    }
    auto yield = cast<YieldOp>(graph.getBody().front().getTerminator());
    SmallVector<Value> results(graph.getNumResults());
    for (auto [value, number] :
         llvm::zip(yield.getValues(), yield.getResults())) {
      Value part = values.lookup(value);
      Value &sum = results[number];
      sum = sum ? add(builder, yield.getLoc(), sum, part) : part;
    }
    func::ReturnOp::create(builder, yield.getLoc(), results);
    graph.erase();
    return success();
  }
};
} // namespace
} // namespace stagewright::pipeline
