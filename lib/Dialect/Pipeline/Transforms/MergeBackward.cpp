//===- MergeBackward.cpp - pipeline-merge-backward ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_MERGEBACKWARD
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
/// Merges the backward nodes of one layer into one node.
class Merger {
public:
  /// `uses`: how many nodes call each body; merge() updates it.
  Merger(SymbolTable &symbols, llvm::StringMap<unsigned> &uses,
         MutableArrayRef<NodeOp> halves, StringRef name)
      : symbols(symbols), uses(uses), halves(halves), name(name) {}

  void merge() {
    collectInterface();
    func::FuncOp first = bodyOf(halves.front());
    SmallVector<Type> results;
    for (Value output : outputs)
      results.push_back(output.getType());
    auto body = func::FuncOp::create(
        first.getLoc(), name,
        FunctionType::get(first.getContext(),
                          TypeRange(ValueRange(inputs.getArrayRef())),
                          results));
    body.setPrivate();
    fill(body);
    symbols.insert(body, Block::iterator(first));
    uses[body.getName()] = 1;

    OpBuilder builder(halves.front());
    auto merged = NodeOp::create(
        builder, halves.front().getLoc(), results, name,
        FlatSymbolRefAttr::get(body), ActionKind::Backward,
        halves.front().getLayer(), inputs.getArrayRef(), CostAttr());
    for (auto [output, value] : llvm::zip(outputs, merged.getOutputs()))
      output.replaceAllUsesWith(value);
    for (NodeOp half : llvm::reverse(halves)) {
      func::FuncOp old = bodyOf(half);
      half.erase();
      if (--uses[old.getName()] == 0)
        symbols.erase(old);
    }
  }

private:
  func::FuncOp bodyOf(NodeOp node) {
    return symbols.lookup<func::FuncOp>(*node.getCallee());
  }

  /// Collects what the halves read from other nodes, and other nodes from them.
  void collectInterface() {
    auto isHalf = [&](Operation *op) {
      return op && llvm::is_contained(halves, dyn_cast<NodeOp>(op));
    };
    for (NodeOp half : halves)
      for (Value input : half.getInputs())
        if (!isHalf(input.getDefiningOp()))
          inputs.insert(input);
    for (NodeOp half : halves)
      for (Value output : half.getOutputs())
        if (llvm::any_of(output.getUsers(),
                         [&](Operation *user) { return !isHalf(user); }))
          outputs.push_back(output);
  }

  void fill(func::FuncOp body) {
    OpBuilder builder = OpBuilder::atBlockEnd(body.addEntryBlock());
    IRMapping values;
    for (auto [input, argument] : llvm::zip(inputs, body.getArguments()))
      values.map(input, argument);
    for (NodeOp half : halves) {
      func::FuncOp source = bodyOf(half);
      IRMapping map;
      for (auto [input, argument] :
           llvm::zip(half.getInputs(), source.getArguments())) {
        Value value = values.lookup(input);
        if (auto own = dyn_cast<BlockArgument>(value))
          own.setLoc(argument.getLoc());
        map.map(argument, value);
      }
      for (Operation &op : source.getBody().front().without_terminator())
        builder.clone(op, map);
      for (auto [output, value] :
           llvm::zip(half.getOutputs(),
                     source.getBody().front().getTerminator()->getOperands()))
        values.map(output, map.lookup(value));
    }
    SmallVector<Value> returned;
    for (Value output : outputs)
      returned.push_back(values.lookup(output));
    func::ReturnOp::create(builder, body.getLoc(), returned);
    // Removes forward work that both halves repeat.
    IRRewriter rewriter(body.getContext());
    DominanceInfo dominance(body);
    eliminateCommonSubExpressions(rewriter, dominance, body);
  }

  SymbolTable &symbols;
  llvm::StringMap<unsigned> &uses;
  MutableArrayRef<NodeOp> halves;
  StringRef name;
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
};

struct MergeBackwardPass : impl::MergeBackwardBase<MergeBackwardPass> {
  using MergeBackwardBase::MergeBackwardBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(ensureGraph()))
      return signalPassFailure();
    SymbolTable symbols(module);
    llvm::StringMap<unsigned> uses;
    module.walk([&](NodeOp node) {
      if (node.getCalleeAttr())
        ++uses[*node.getCallee()];
    });
    for (GraphOp graph : module.getOps<GraphOp>()) {
      llvm::MapVector<int64_t, SmallVector<NodeOp, 2>> layers;
      for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
        if (node.getPhase() == ActionKind::Forward || !node.getCalleeAttr())
          continue;
        auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
        if (body && !body.isExternal())
          layers[node.getLayer()].push_back(node);
      }
      for (auto &[layer, halves] : layers) {
        if (halves.size() == 1 &&
            halves.front().getPhase() == ActionKind::Backward)
          continue;
        std::string name = (graph.getLayerName(layer) + ".B").str();
        Merger(symbols, uses, halves, name).merge();
        ++numMerged;
      }
      // A later half may have read a node behind the first one.
      sortTopologically(&graph.getBody().front());
    }
  }
};
} // namespace
} // namespace stagewright::pipeline
