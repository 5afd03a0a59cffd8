//===- RepeatLayers.cpp - pipeline-repeat-layers --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../WriteProgram.h"
#include "mlir/IR/IRMapping.h"
#include "stagewright/Analysis/Annotations.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_REPEATLAYERS
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

/// Layers [first, end) of a graph.
struct Range {
  int64_t first = 0, end = 0;

  bool has(NodeOp node) const {
    return int64_t(node.getLayer()) >= first && int64_t(node.getLayer()) < end;
  }
};

/// A body that returns only some results of another one.
struct Part {
  FlatSymbolRefAttr body;
  SmallVector<unsigned> arguments; ///< Those of the other body that it reads.
};

class Repeater {
public:
  Repeater(GraphOp graph, SymbolTable &symbols)
      : graph(graph), symbols(symbols) {}

  void repeat(const Range &range);
  /// Adds the layers of the repeated forwards of `ranges`, which ascend.
  void addLayers(ArrayRef<Range> ranges);
  /// Lets forwards return only results that are used.
  void dropUnused(const Range &range);
  /// Removes the levels of recomputation of the layers of `ranges`.
  void removeLevels(ArrayRef<Range> ranges);

  int64_t repeated = 0, dropped = 0;
  /// Former bodies of nodes that now call another one or are erased, and bodies
  /// of levels that are no longer offered.
  llvm::StringSet<> replaced;
  llvm::StringSet<> offered; ///< Bodies of levels that other layers offer.

private:
  const Part &partOf(NodeOp node, const llvm::BitVector &results);
  NodeOp writePart(OpBuilder &builder, NodeOp node, const Part &part,
                   const llvm::BitVector &results);

  GraphOp graph;
  SymbolTable &symbols;
  std::map<std::pair<StringRef, std::vector<unsigned>>, Part> parts;
  DenseSet<Operation *> again; ///< Nodes that repeat forwards.
};

} // namespace

const Part &Repeater::partOf(NodeOp node, const llvm::BitVector &results) {
  std::vector<unsigned> numbers(results.set_bits_begin(),
                                results.set_bits_end());
  auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
  auto [entry, isNew] = parts.try_emplace({body.getName(), std::move(numbers)});
  Part &part = entry->second;
  if (!isNew)
    return part;
  if (results.all()) {
    part.body = FlatSymbolRefAttr::get(body);
    part.arguments =
        llvm::to_vector(llvm::seq(0u, unsigned(body.getNumArguments())));
    return part;
  }
  func::FuncOp copy = body.clone();
  Block &block = copy.getBody().front();
  Operation *end = block.getTerminator();
  llvm::BitVector rest = results;
  end->eraseOperands(rest.flip());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unread(copy.getNumArguments());
  for (BlockArgument argument : copy.getArguments())
    if (argument.use_empty())
      unread.set(argument.getArgNumber());
    else
      part.arguments.push_back(argument.getArgNumber());
  (void)copy.eraseResults(rest);
  (void)copy.eraseArguments(unread);
  copy.setName((body.getName() + ".part").str());
  symbols.insert(copy, std::next(Block::iterator(body)));
  part.body = FlatSymbolRefAttr::get(copy);
  return part;
}

NodeOp Repeater::writePart(OpBuilder &builder, NodeOp node, const Part &part,
                           const llvm::BitVector &results) {
  SmallVector<mlir::Value> inputs;
  for (unsigned number : part.arguments)
    inputs.push_back(node->getOperand(number));
  SmallVector<Type> types;
  for (unsigned number : results.set_bits())
    types.push_back(node->getResult(number).getType());
  bool isSame = part.body == node.getCalleeAttr();
  auto made = NodeOp::create(builder, node.getLoc(), types, node.getNodeName(),
                             part.body, node.getPhase(), node.getLayer(),
                             inputs, isSame ? node.getCostAttr() : CostAttr());
  made.setSliceableAttr(node.getSliceableAttr());
  made.setMixesAttr(node.getMixesAttr());
  // What is no longer returned may still be a temporary.
  int64_t bytes = 0;
  for (OpResult result : node->getResults())
    if (!results.test(result.getResultNumber()))
      bytes += bytesOf(result.getType());
  if (auto own = node.getWorkspace())
    made.setWorkspace(int64_t(*own) + bytes);
  if (auto own = node.getSampleWorkspace())
    made.setSampleWorkspace(int64_t(*own) + bytes);
  return made;
}

void Repeater::repeat(const Range &range) {
  SmallVector<NodeOp> forwards, backwards;
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
    if (range.has(node) && !again.contains(node))
      (node.getPhase() == ActionKind::Forward ? forwards : backwards)
          .push_back(node);
  DenseSet<Operation *> isBackward(backwards.begin(), backwards.end());
  // The results of each forward that backwards or repeated forwards read.
  DenseSet<mlir::Value> needed;
  DenseMap<Operation *, llvm::BitVector> results;
  for (NodeOp node : llvm::reverse(forwards)) {
    llvm::BitVector &own = results[node];
    own.resize(node->getNumResults());
    for (OpResult result : node->getResults())
      if (needed.contains(result) ||
          llvm::any_of(result.getUsers(), [&](Operation *user) {
            return isBackward.contains(user);
          }))
        own.set(result.getResultNumber());
    if (own.any())
      for (unsigned number : partOf(node, own).arguments)
        needed.insert(node->getOperand(number));
  }
  if (backwards.empty())
    return;
  // Backwards come in the order in which they run, after all forwards.
  OpBuilder builder(backwards.front());
  bool isWhole = llvm::any_of(backwards, [](NodeOp node) {
    return node.getPhase() == ActionKind::Backward;
  });
  IRMapping remade;
  for (NodeOp node : forwards) {
    const llvm::BitVector &own = results[node];
    if (own.none())
      continue;
    NodeOp made = writePart(builder, node, partOf(node, own), own);
    for (OpOperand &input : made->getOpOperands())
      input.set(remade.lookupOrDefault(input.get()));
    made.setPhase(isWhole ? ActionKind::Backward : ActionKind::InputGradient);
    made.setNodeName(
        (graph.getLayerName(node.getLayer()) + PipelineDialect::kAgainSuffix)
            .str());
    again.insert(made);
    ++repeated;
    for (auto [number, value] :
         llvm::zip_equal(own.set_bits(), made.getOutputs()))
      remade.map(node->getResult(number), value);
  }
  for (NodeOp node : backwards)
    for (OpOperand &input : node->getOpOperands())
      input.set(remade.lookupOrDefault(input.get()));
}

void Repeater::dropUnused(const Range &range) {
  auto nodes = llvm::to_vector(graph.getBody().front().getOps<NodeOp>());
  for (NodeOp node : llvm::reverse(nodes)) {
    if (!range.has(node) || again.contains(node) ||
        node.getPhase() != ActionKind::Forward)
      continue;
    llvm::BitVector used(node->getNumResults());
    for (OpResult result : node->getResults())
      used[result.getResultNumber()] = !result.use_empty();
    if (used.all())
      continue;
    dropped += int64_t(used.size() - used.count());
    replaced.insert(*node.getCallee());
    if (used.any()) {
      OpBuilder builder(node);
      NodeOp made = writePart(builder, node, partOf(node, used), used);
      for (auto [number, value] :
           llvm::zip_equal(used.set_bits(), made.getOutputs()))
        node->getResult(number).replaceAllUsesWith(value);
    }
    node.erase();
  }
}

void Repeater::removeLevels(ArrayRef<Range> ranges) {
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
    ArrayAttr levels = node.getLevelsAttr();
    if (!levels)
      continue;
    bool isRepeated = llvm::any_of(
        ranges, [&](const Range &range) { return range.has(node); });
    for (auto level : levels.getAsRange<LevelAttr>())
      for (FlatSymbolRefAttr body : {level.getForward(), level.getAgain()})
        (isRepeated ? replaced : offered).insert(body.getValue());
    if (isRepeated)
      node.removeLevelsAttr();
  }
}

void Repeater::addLayers(ArrayRef<Range> ranges) {
  // `olds`: the old number of each new layer. `ofLayer`, `ofAgain`: by old
  // number, the new number of the layer and of its repeated forward.
  SmallVector<int64_t> olds, ofLayer(graph.getNumLayers()), ofAgain(ofLayer);
  int64_t next = 0;
  for (const Range *range = ranges.begin(); next < graph.getNumLayers();) {
    int64_t end = range == ranges.end() ? graph.getNumLayers() : range->end;
    int64_t first = range == ranges.end() ? end : range->first;
    for (int64_t layer = next; layer < end; ++layer) {
      ofLayer[layer] = int64_t(olds.size());
      olds.push_back(layer);
    }
    for (int64_t layer = end; layer-- > first;) {
      ofAgain[layer] = int64_t(olds.size());
      olds.push_back(layer);
    }
    next = end;
    range += range != ranges.end();
  }
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
    node.setLayer((again.contains(node) ? ofAgain : ofLayer)[node.getLayer()]);
  Builder builder(graph.getContext());
  SmallVector<Attribute> names;
  for (auto [number, old] : llvm::enumerate(olds)) {
    bool isAgain = ofLayer[old] != int64_t(number);
    names.push_back(builder.getStringAttr(
        graph.getLayerName(old) +
        (isAgain ? StringRef(PipelineDialect::kAgainSuffix) : "")));
  }
  for (StringRef annotations : {kAnnotations, kShardAnnotations})
    if (auto forms = graph->getAttrOfType<ArrayAttr>(annotations)) {
      SmallVector<Attribute> own;
      for (int64_t old : olds)
        own.push_back(forms[old]);
      graph->setAttr(annotations, builder.getArrayAttr(own));
    }
  graph.setLayersAttr(builder.getArrayAttr(names));
}

namespace {

struct RepeatLayersPass : impl::RepeatLayersBase<RepeatLayersPass> {
  using RepeatLayersBase::RepeatLayersBase;

  void runOnOperation() override {
    for (GraphOp graph : getOperation().getOps<GraphOp>())
      if (failed(repeat(graph)))
        return signalPassFailure();
  }

  FailureOr<SmallVector<Range>> readRanges(GraphOp graph) {
    SmallVector<Range> ranges;
    for (const std::string &text : layers) {
      Range range;
      auto [first, last] = StringRef(text).split('-');
      if (first.getAsInteger(10, range.first) ||
          last.getAsInteger(10, range.end))
        return emitError(graph.getLoc())
               << "layers must be ranges such as 0-3, got '" << text << "'";
      int64_t least = ranges.empty() ? 0 : ranges.back().end;
      if (range.first < least || range.end < range.first ||
          range.end++ >= graph.getNumLayers())
        return emitError(graph.getLoc())
               << "ranges of layers must ascend within the "
               << graph.getNumLayers() << " layers of @" << graph.getSymName()
               << ", got '" << text << "'";
      ranges.push_back(range);
    }
    return ranges;
  }

  LogicalResult repeat(GraphOp graph) {
    FailureOr<SmallVector<Range>> ranges = readRanges(graph);
    if (failed(ranges))
      return failure();
    for (const Range &range : *ranges)
      for (int64_t layer = range.first; layer < range.end; ++layer)
        if (graph.getLayerName(layer).ends_with(PipelineDialect::kAgainSuffix))
          return emitError(graph.getLoc())
                 << "layer '" << graph.getLayerName(layer)
                 << "' repeats a forward; leave it out of the ranges";
    Block &block = graph.getBody().front();
    SymbolTable symbols(getOperation());
    for (NodeOp node : block.getOps<NodeOp>()) {
      bool isRepeated = llvm::any_of(
          *ranges, [&](const Range &range) { return range.has(node); });
      auto body = node.getCallee()
                      ? symbols.lookup<func::FuncOp>(*node.getCallee())
                      : func::FuncOp();
      if (isRepeated && (!body || body.isExternal()))
        return emitError(node.getLoc()) << "node '" << node.getNodeName()
                                        << "' has no body; only layers "
                                        << "with bodies can be repeated";
    }
    // Forwards first: they read nothing of backwards.
    auto isForward = [](NodeOp node) {
      return node.getPhase() == ActionKind::Forward;
    };
    auto nodes = llvm::to_vector(block.getOps<NodeOp>());
    for (NodeOp node : llvm::reverse(nodes))
      if (isForward(node))
        node->moveBefore(&block, block.begin());
    Repeater repeater(graph, symbols);
    for (const Range &range : *ranges)
      repeater.repeat(range);
    repeater.removeLevels(*ranges); // While the old nodes still have levels.
    for (const Range &range : *ranges)
      repeater.dropUnused(range);
    repeater.addLayers(*ranges);
    for (const auto &body : repeater.offered)
      repeater.replaced.erase(body.getKey());
    eraseUncalled(getOperation(), repeater.replaced);
    numRepeated += repeater.repeated;
    numDropped += repeater.dropped;
    return success();
  }
};

} // namespace
} // namespace stagewright::pipeline
