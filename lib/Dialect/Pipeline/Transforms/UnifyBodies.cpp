//===- UnifyBodies.cpp - pipeline-unify-bodies ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/EqualBodies.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_UNIFYBODIES
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct UnifyBodiesPass : impl::UnifyBodiesBase<UnifyBodiesPass> {
  using UnifyBodiesBase::UnifyBodiesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(ensureGraph()))
      return signalPassFailure();

    SymbolTable symbols(module);
    EqualBodies distinct;
    llvm::DenseMap<Operation *, func::FuncOp> standIn;
    for (GraphOp graph : module.getOps<GraphOp>())
      for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
        if (!node.getCalleeAttr())
          continue;
        auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
        if (!body || !body.isPrivate() || body.isDeclaration())
          continue;
        auto [slot, isNew] = standIn.try_emplace(body);
        if (isNew)
          slot->second = distinct.find(body);
        node.setCalleeAttr(FlatSymbolRefAttr::get(slot->second));
      }
    llvm::DenseSet<StringAttr> isUsed; // By others than nodes.
    module.walk([&](func::CallOp call) {
      isUsed.insert(call.getCalleeAttr().getAttr());
    });
    module.walk([&](NodeOp node) {
      if (ArrayAttr levels = node.getLevelsAttr())
        for (auto level : levels.getAsRange<LevelAttr>())
          for (FlatSymbolRefAttr name : {level.getForward(), level.getAgain()})
            isUsed.insert(name.getAttr());
    });
    for (auto [body, other] : standIn)
      if (body != other &&
          !isUsed.contains(cast<func::FuncOp>(body).getSymNameAttr())) {
        ++numRemoved;
        symbols.erase(body);
      } else {
        ++numBodies;
      }
  }
};
} // namespace
} // namespace stagewright::pipeline
