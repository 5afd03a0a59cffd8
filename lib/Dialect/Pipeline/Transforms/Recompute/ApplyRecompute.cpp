//===- ApplyRecompute.cpp - pipeline-apply-recompute ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../WriteProgram.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_APPLYRECOMPUTE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

struct ApplyRecomputePass : impl::ApplyRecomputeBase<ApplyRecomputePass> {
  void runOnOperation() override {
    llvm::StringSet<> offered;
    for (GraphOp graph : getOperation().getOps<GraphOp>())
      for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
        if (ArrayAttr levels = node.getLevelsAttr()) {
          offered.insert(*node.getCallee());
          for (auto level : levels.getAsRange<LevelAttr>()) {
            offered.insert(level.getForward().getValue());
            offered.insert(level.getAgain().getValue());
          }
        }
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(apply(program)))
        return signalPassFailure();
    for (GraphOp graph : getOperation().getOps<GraphOp>())
      for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
        node.removeLevelsAttr();
    eraseUncalled(getOperation(), offered);
  }

  LogicalResult apply(ProgramOp program) {
    GraphOp graph = graphOf(program);
    DenseMap<int64_t, int64_t> levelOf;
    for (StageOp stage : program.getBody().front().getOps<StageOp>())
      if (std::optional<ArrayRef<int64_t>> levels = stage.getLevels())
        for (auto [layer, level] : llvm::zip(stage.getLayers(), *levels))
          levelOf[layer] = level;
    // The first backward node of each layer: recomputation is inserted before
    // it.
    DenseMap<int64_t, NodeOp> backwards;
    for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
      if (node.getPhase() != ActionKind::Forward)
        backwards.try_emplace(node.getLayer(), node);
    SymbolTable symbols(graph->getParentOfType<ModuleOp>());
    for (NodeOp node :
         llvm::make_early_inc_range(graph.getBody().front().getOps<NodeOp>())) {
      int64_t level = levelOf.lookup(node.getLayer());
      ArrayAttr offered = node.getLevelsAttr();
      if (level == 0 || !offered)
        continue;
      if (level > int64_t(offered.size()))
        return node.emitOpError()
               << "'" << node.getNodeName() << "' has " << offered.size()
               << " levels, and its stage wants level " << level
               << "; plan with the levels that it offers";
      NodeOp &backward = backwards[node.getLayer()];
      if (!backward)
        return node.emitOpError()
               << "'" << node.getNodeName() << "' has levels and no backward";
      backward = take(graph, symbols, node, backward,
                      cast<LevelAttr>(offered[level - 1]));
      ++numLayers;
    }
    return success();
  }

  /// Replaces forward `node` by that of `level`. Inserts a node before
  /// `backward` that recomputes what the new forward does not keep, and returns
  /// this node.
  static NodeOp take(GraphOp graph, const SymbolTable &symbols, NodeOp node,
                     NodeOp backward, LevelAttr level) {
    OpBuilder builder(node);
    auto bodyOf = [&](FlatSymbolRefAttr name) {
      return cast<FunctionOpInterface>(symbols.lookup(name.getValue()));
    };
    auto workspace = [&](DenseI64ArrayAttr of, unsigned which) {
      return of ? builder.getI64IntegerAttr(of[which]) : IntegerAttr();
    };
    auto less = NodeOp::create(
        builder, node.getLoc(), bodyOf(level.getForward()).getResultTypes(),
        node.getNodeName(), level.getForward(), ActionKind::Forward,
        node.getLayer(), node.getInputs(), node.getCostAttr());
    less.setSliceableAttr(node.getSliceableAttr());
    less.setMixesAttr(node.getMixesAttr());
    less.setWorkspaceAttr(workspace(level.getWorkspaces(), 0));
    less.setSampleWorkspaceAttr(workspace(level.getSampleWorkspaces(), 0));

    SmallVector<mlir::Value> inputs;
    for (int64_t number : level.getInputs().asArrayRef())
      inputs.push_back(number >= 0 ? less->getResult(unsigned(number))
                                   : node->getOperand(unsigned(-1 - number)));
    builder.setInsertionPoint(backward);
    auto again = NodeOp::create(
        builder, node.getLoc(), bodyOf(level.getAgain()).getResultTypes(),
        (graph.getLayerName(node.getLayer()) + PipelineDialect::kAgainSuffix)
            .str(),
        level.getAgain(), backward.getPhase(), node.getLayer(), inputs,
        level.getCost());
    again.setSliceableAttr(node.getSliceableAttr());
    again.setMixesAttr(node.getMixesAttr());
    again.setWorkspaceAttr(workspace(level.getWorkspaces(), 1));
    again.setSampleWorkspaceAttr(workspace(level.getSampleWorkspaces(), 1));

    // A result may be kept for other layers and recomputed for the own
    // backward.
    for (auto [number, made] :
         llvm::zip(level.getRemade().asArrayRef(), again.getOutputs()))
      node->getResult(unsigned(number))
          .replaceUsesWithIf(made, [&](OpOperand &use) {
            auto reader = dyn_cast<NodeOp>(use.getOwner());
            return reader && reader.getPhase() != ActionKind::Forward &&
                   reader.getLayer() == node.getLayer();
          });
    for (auto [number, kept] :
         llvm::zip(level.getResults().asArrayRef(), less.getOutputs()))
      if (number >= 0)
        node->getResult(unsigned(number)).replaceAllUsesWith(kept);
    node.erase();
    return again;
  }
};

} // namespace
} // namespace stagewright::pipeline
