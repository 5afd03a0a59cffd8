//===- UnifyBodies.cpp - pipeline-unify-bodies ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_UNIFYBODIES
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
/// Hash of a body that is the same for bodies equal up to names and locations:
/// values are numbered as they appear.
class BodyHash {
public:
  static llvm::hash_code of(func::FuncOp body) {
    BodyHash hash;
    hash.add(hash_value(body.getFunctionType()));
    hash.addRegion(body.getBody());
    return hash.state;
  }

private:
  void add(llvm::hash_code code) { state = llvm::hash_combine(state, code); }

  void addRegion(Region &region) {
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        define(argument);
      for (Operation &op : block)
        addOperation(op);
    }
  }

  void addOperation(Operation &op) {
    add(hash_value(op.getName()));
    add(hash_value(op.getDiscardableAttrDictionary()));
    add(op.hashProperties());
    for (Value operand : op.getOperands())
      add(llvm::hash_value(numbers.lookup(operand)));
    for (Value result : op.getResults())
      define(result);
    for (Region &region : op.getRegions())
      addRegion(region);
  }

  void define(Value value) {
    numbers.try_emplace(value, numbers.size() + 1);
    add(hash_value(value.getType()));
  }

  llvm::hash_code state{0};
  llvm::DenseMap<Value, unsigned> numbers;
};

struct UnifyBodiesPass : impl::UnifyBodiesBase<UnifyBodiesPass> {
  using UnifyBodiesBase::UnifyBodiesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto run = [&](OpPassManager &pm) { return runPipeline(pm, module); };
    if (failed(ensureGraph(module, run)))
      return signalPassFailure();

    SymbolTable symbols(module);
    llvm::MapVector<size_t, SmallVector<func::FuncOp, 1>> distinct;
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
          slot->second = findEqual(body, distinct[BodyHash::of(body)]);
        node.setCalleeAttr(FlatSymbolRefAttr::get(slot->second));
      }
    for (auto [body, other] : standIn)
      if (body != other) {
        ++numRemoved;
        symbols.erase(body);
      } else {
        ++numBodies;
      }
  }

  /// The body equal to `body` among those with its hash; `body` itself if it is
  /// the first.
  static func::FuncOp findEqual(func::FuncOp body,
                                SmallVectorImpl<func::FuncOp> &sameHash) {
    for (func::FuncOp other : sameHash)
      if (other.getFunctionType() == body.getFunctionType() &&
          OperationEquivalence::isRegionEquivalentTo(
              &other.getBody(), &body.getBody(),
              OperationEquivalence::IgnoreLocations))
        return other;
    sameHash.push_back(body);
    return body;
  }
};
} // namespace
} // namespace stagewright::pipeline
