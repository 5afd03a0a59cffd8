//===- OfferRecompute.cpp - pipeline-offer-recompute ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/RecomputeCuts.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Cost/Roofline.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include <map>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_OFFERRECOMPUTE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

/// The readers of a result of a forward.
struct Readers {
  bool own = false;            ///< The backward of its layer.
  bool others = false;         ///< Other forwards, or the step returns it.
  bool otherBackwards = false; ///< Of other layers; it is kept in any case.
};

Readers readersOf(OpResult result, int64_t layer) {
  Readers readers;
  for (Operation *user : result.getUsers()) {
    auto node = dyn_cast<NodeOp>(user);
    if (!node || node.getPhase() == ActionKind::Forward)
      readers.others = true;
    else if (int64_t(node.getLayer()) == layer)
      readers.own = true;
    else
      readers.otherBackwards = true;
  }
  return readers;
}

/// Whether the value is in memory for a backward whatever is chosen: arguments
/// of the step, and values that backwards read in the graph as it is.
bool isHeld(mlir::Value value) {
  return !value.getDefiningOp() ||
         llvm::any_of(value.getUsers(), [](Operation *user) {
           auto node = dyn_cast<NodeOp>(user);
           return node && node.getPhase() != ActionKind::Forward;
         });
}

/// The choices for one layer, as functions and level attributes.
class Offer {
public:
  Offer(NodeOp forward, func::FuncOp body, SymbolTable &symbols)
      : forward(forward), body(body), symbols(symbols),
        returned(body.getBody().front().getTerminator()) {
    question.body = body;
    for (mlir::Value input : forward.getInputs())
      question.argumentIsHeld.push_back(isHeld(input));
    for (OpResult result : forward->getResults()) {
      readers.push_back(readersOf(result, forward.getLayer()));
      const Readers &own = readers.back();
      question.resultIsHeld.push_back(own.otherBackwards);
      // An argument that is passed through cannot be recomputed.
      if (own.own && valueOf(result.getResultNumber()).getDefiningOp())
        question.demanded.push_back(result.getResultNumber());
    }
  }

  /// The choices depend only on this: equal keys have equal levels.
  using Key = std::tuple<const void *, std::vector<unsigned>, std::vector<bool>,
                         std::vector<bool>, std::vector<bool>>;
  Key key() const {
    std::vector<bool> stays;
    for (const Readers &own : readers)
      stays.insert(stays.end(), {own.others, own.own});
    return {question.body.getAsOpaquePointer(), question.demanded,
            question.argumentIsHeld, question.resultIsHeld, stays};
  }

  SmallVector<LevelAttr> write(const Device &slowest, size_t most,
                               StringRef name) {
    SmallVector<LevelAttr> levels;
    for (const RecomputeCut &cut : recomputeCuts(question, slowest, most))
      levels.push_back(
          writeLevel(cut, (name + Twine(levels.size() + 1)).str()));
    return levels;
  }

private:
  mlir::Value valueOf(unsigned result) const {
    return returned->getOperand(result);
  }

  LevelAttr writeLevel(const RecomputeCut &cut, const std::string &suffix) {
    llvm::SmallDenseSet<Operation *> isAgain(cut.again.begin(),
                                             cut.again.end());
    // Results of the new forward: numbers of old ones (-1: new), and values.
    SmallVector<int64_t> results, remade;
    SmallVector<mlir::Value> kept;
    auto isDemanded = [&](unsigned result) {
      return llvm::is_contained(question.demanded, result);
    };
    for (auto [number, own] : llvm::enumerate(readers)) {
      mlir::Value value = valueOf(number);
      Operation *maker = value.getDefiningOp();
      bool made = isDemanded(number) && maker && isAgain.contains(maker);
      if (made)
        remade.push_back(number);
      if (own.others || own.otherBackwards || (own.own && !made)) {
        results.push_back(number);
        kept.push_back(value);
      }
    }
    for (mlir::Value value : cut.kept)
      if (!llvm::is_contained(kept, value)) {
        results.push_back(-1);
        kept.push_back(value);
      }
    // Inputs of the recomputation: arguments n as -1 - n, or indices in `kept`.
    SmallVector<int64_t> inputs;
    SmallVector<mlir::Value> read;
    func::FuncOp again = makeAgain(cut, isAgain, remade, read, suffix);
    for (mlir::Value value : read) {
      auto argument = dyn_cast<BlockArgument>(value);
      inputs.push_back(argument
                           ? -1 - int64_t(argument.getArgNumber())
                           : int64_t(llvm::find(kept, value) - kept.begin()));
    }
    func::FuncOp less = makeForward(kept, suffix);
    MLIRContext *context = body.getContext();
    auto numbers = [&](ArrayRef<int64_t> list) {
      return DenseI64ArrayAttr::get(context, list);
    };
    return LevelAttr::get(context, FlatSymbolRefAttr::get(less),
                          FlatSymbolRefAttr::get(again), numbers(results),
                          numbers(inputs), numbers(remade), CostAttr(), {}, {});
  }

  /// Adds a copy of the forward that returns `kept`.
  func::FuncOp makeForward(ArrayRef<mlir::Value> kept,
                           const std::string &suffix) {
    OpBuilder builder(body.getContext());
    IRMapping map;
    auto less = cast<func::FuncOp>(body->clone(map));
    less.setName((body.getName() + ".less" + suffix).str());
    Operation *end = less.getBody().front().getTerminator();
    SmallVector<mlir::Value> values;
    for (mlir::Value value : kept)
      values.push_back(map.lookup(value));
    end->setOperands(values);
    less.setFunctionType(builder.getFunctionType(
        less.getArgumentTypes(), ValueRange(values).getTypes()));
    less.setResAttrsAttr(nullptr);
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(less.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    symbols.insert(less, std::next(Block::iterator(body)));
    return less;
  }

  /// Adds a function of the operations of `cut` that returns the results
  /// `remade`; `read` is set to its arguments, as values of the body.
  func::FuncOp makeAgain(const RecomputeCut &cut,
                         const llvm::SmallDenseSet<Operation *> &isAgain,
                         ArrayRef<int64_t> remade,
                         SmallVectorImpl<mlir::Value> &read,
                         const std::string &suffix) {
    llvm::SetVector<mlir::Value> values;
    for (Operation *op : cut.again)
      op->walk([&](Operation *inner) {
        for (mlir::Value operand : inner->getOperands()) {
          Block *block = operand.getParentBlock();
          Operation *maker = operand.getDefiningOp();
          if (block == &body.getBody().front() && !isAgain.contains(maker))
            values.insert(operand);
        }
      });
    read.assign(values.begin(), values.end());
    SmallVector<Type> results;
    for (int64_t number : remade)
      results.push_back(valueOf(number).getType());
    OpBuilder builder(body.getContext());
    auto again = func::FuncOp::create(
        body.getLoc(), (body.getName() + ".again" + suffix).str(),
        builder.getFunctionType(ValueRange(read).getTypes(), results));
    again.setPrivate();
    builder.setInsertionPointToStart(again.addEntryBlock());
    IRMapping map;
    for (auto [value, argument] : llvm::zip(read, again.getArguments())) {
      argument.setLoc(value.getLoc());
      map.map(value, argument);
    }
    for (Operation *op : cut.again)
      builder.clone(*op, map);
    SmallVector<mlir::Value> returns;
    for (int64_t number : remade)
      returns.push_back(map.lookup(valueOf(number)));
    func::ReturnOp::create(builder, body.getLoc(), returns);
    symbols.insert(again, std::next(Block::iterator(body)));
    return again;
  }

  NodeOp forward;
  func::FuncOp body;
  SymbolTable &symbols;
  Operation *returned;
  RecomputeQuestion question;
  std::vector<Readers> readers;
};

struct OfferRecomputePass : impl::OfferRecomputeBase<OfferRecomputePass> {
  using OfferRecomputeBase::OfferRecomputeBase;

  void runOnOperation() override {
    if (failed(ensureUnifiedGraph()))
      return signalPassFailure();
    FailureOr<std::optional<Cluster>> found =
        findCluster(getOperation(), cluster);
    if (failed(found))
      return signalPassFailure();
    if (!*found) {
      emitError(getOperation().getLoc())
          << "the cost of recomputation depends on the devices; give them "
             "with cluster=";
      return signalPassFailure();
    }
    for (GraphOp graph : getOperation().getOps<GraphOp>()) {
      if (!hasCosts(graph)) {
        EstimateCostOptions options;
        options.cluster = cluster;
        if (failed(run(createEstimateCost(options))))
          return signalPassFailure();
      }
      offer(graph, **found);
    }
  }

  void offer(GraphOp graph, const Cluster &machines) {
    const Device &slowest = *llvm::min_element(
        machines.devices,
        [](const Device &a, const Device &b) { return a.flops < b.flops; });
    SymbolTable symbols(getOperation());
    std::map<Offer::Key, SmallVector<LevelAttr>> known;
    FlopCounter counter;
    for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
      auto body = node.getCalleeAttr()
                      ? symbols.lookup<func::FuncOp>(*node.getCallee())
                      : func::FuncOp();
      if (node.getPhase() != ActionKind::Forward || !body ||
          body.isDeclaration())
        continue;
      Offer choices(node, body, symbols);
      auto [entry, isNew] = known.try_emplace(choices.key());
      if (isNew) {
        entry->second =
            choices.write(slowest, size_t(std::max<int64_t>(0, maxLevels)), "");
        numLevels += entry->second.size();
      }
      if (entry->second.empty())
        continue;
      ++numLayers;
      SmallVector<Attribute> levels;
      for (LevelAttr level : entry->second)
        levels.push_back(withCost(level, node, machines, symbols, counter));
      node.setLevelsAttr(ArrayAttr::get(&getContext(), levels));
    }
  }

  /// `level` with the cost of its recomputation, by the roofline model. If the
  /// time of the forward is known, the cost is scaled by known time / roofline
  /// time of the forward.
  LevelAttr withCost(LevelAttr level, NodeOp node, const Cluster &machines,
                     SymbolTable &symbols, FlopCounter &counter) {
    auto again = symbols.lookup<func::FuncOp>(level.getAgain().getValue());
    auto work = [&](func::FuncOp body) {
      FlopCount count = counter.count(body);
      NodeWork work = {Flops(count.total), Bytes(), Bytes(),
                       count.contractions};
      for (Type type : body.getArgumentTypes())
        work.read += Bytes(bytesOf(type));
      for (Type type : body.getResultTypes())
        work.written += Bytes(bytesOf(type));
      return work;
    };
    NodeWork own = work(again),
             whole = work(symbols.lookup<func::FuncOp>(*node.getCallee()));
    Builder builder(&getContext());
    SmallVector<NamedAttribute> seconds;
    DictionaryAttr known = node.getCostAttr().getSeconds();
    for (const Device &device : machines.devices) {
      auto name = builder.getStringAttr(device.deviceClass);
      if (llvm::any_of(seconds,
                       [&](auto entry) { return entry.getName() == name; }))
        continue;
      double time = rooflineSeconds(own, device).value,
             all = rooflineSeconds(whole, device).value;
      auto measured = known ? known.getAs<FloatAttr>(name) : FloatAttr();
      if (measured && all > 0)
        time *= measured.getValueAsDouble() / all;
      seconds.emplace_back(name, builder.getF64FloatAttr(time));
    }
    auto cost = CostAttr::get(
        &getContext(), int64_t(std::min(own.flops.value, 0x1p62)),
        own.read.value, own.written.value, builder.getDictionaryAttr(seconds));
    return LevelAttr::get(&getContext(), level.getForward(), level.getAgain(),
                          level.getResults(), level.getInputs(),
                          level.getRemade(), cost, {}, {});
  }
};

} // namespace
} // namespace stagewright::pipeline
