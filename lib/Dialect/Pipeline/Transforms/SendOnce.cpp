//===- SendOnce.cpp - pipeline-send-once ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteProgram.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SENDONCE
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

/// Rewrites the graph of one program.
class Relayer {
public:
  Relayer(ProgramOp program, SymbolTable &symbols)
      : program(program), graph(graphOf(program)), symbols(symbols),
        stageOfLayer(stageOfLayers(program)) {
    for (StageOp stage : program.getBody().front().getOps<StageOp>())
      stages.push_back(stage);
  }

  void run();
  int64_t relayed = 0, removed = 0;

private:
  StageOp stageOf(NodeOp node) { return stages[stageOfLayer[node.getLayer()]]; }
  /// Whether `node` calls a body that is not only declared.
  bool hasBody(NodeOp node) {
    auto body = node.getCallee()
                    ? symbols.lookup<func::FuncOp>(*node.getCallee())
                    : func::FuncOp();
    return body && !body.isExternal();
  }
  /// If `node` copies values that its own devices made, lets the readers of the
  /// copies read these values.
  void removeCopies(NodeOp node);
  void findRelays(OpResult value);
  void relay(NodeOp node, ArrayRef<int64_t> inputs);
  /// Replaces `node`, and the uses of its results, by a node whose body also
  /// returns `arguments`, but not the results `dropped`.
  NodeOp replace(NodeOp node, ArrayRef<int64_t> arguments,
                 ArrayRef<int64_t> dropped);
  FlatSymbolRefAttr bodyWith(NodeOp node, ArrayRef<int64_t> arguments,
                             ArrayRef<int64_t> dropped);

  ProgramOp program;
  GraphOp graph;
  SymbolTable &symbols;
  SmallVector<int64_t> stageOfLayer;
  SmallVector<StageOp> stages;
  /// By node: the inputs that it returns for other stages of its devices.
  llvm::MapVector<Operation *, SmallVector<int64_t>> relays;
  /// By body, arguments that the new body also returns, and results that it
  /// does not return: the new body.
  std::map<std::tuple<StringRef, std::vector<int64_t>, std::vector<int64_t>>,
           FlatSymbolRefAttr>
      made;
  /// Bodies of nodes that now call another one, or are erased.
  llvm::StringSet<> changed;
};

} // namespace

void Relayer::findRelays(OpResult value) {
  StageOp from = stageOf(cast<NodeOp>(value.getOwner()));
  llvm::SmallSetVector<Operation *, 4> readers;
  for (Operation *user : value.getUsers())
    if (isa<NodeOp>(user))
      readers.insert(user);
  SmallVector<Operation *> inOrder(readers.begin(), readers.end());
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::MapVector<Attribute, Operation *> first; // By devices.
  llvm::SmallSetVector<Operation *, 2> found;
  for (Operation *reader : inOrder) {
    StageOp stage = stageOf(cast<NodeOp>(reader));
    // A schedule may delay W, for which other stages must not wait.
    if (cast<NodeOp>(reader).getPhase() == ActionKind::WeightGradient)
      continue;
    // Replicas of a stage that work on slices get only rows of the value.
    if (stage.getRows() || stage.getDevices() == from.getDevices())
      continue;
    Operation *&earliest = first[stage.getDevices()];
    if (!earliest)
      earliest = reader;
    else if (stageOf(cast<NodeOp>(earliest)) != stage)
      found.insert(earliest);
  }
  for (Operation *node : found)
    if (hasBody(cast<NodeOp>(node)))
      relays[node].push_back(llvm::find(node->getOperands(), value) -
                             node->operand_begin());
}

FlatSymbolRefAttr Relayer::bodyWith(NodeOp node, ArrayRef<int64_t> arguments,
                                    ArrayRef<int64_t> dropped) {
  auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
  FlatSymbolRefAttr &known =
      made[{body.getName(), arguments.vec(), dropped.vec()}];
  if (known)
    return known;
  changed.insert(body.getName());
  func::FuncOp copy = body.clone();
  Operation *end = copy.getBody().front().getTerminator();
  for (int64_t number : llvm::reverse(dropped))
    end->eraseOperand(unsigned(number));
  for (int64_t number : arguments)
    end->insertOperands(end->getNumOperands(),
                        copy.getArgument(unsigned(number)));
  copy.setType(FunctionType::get(copy.getContext(), copy.getArgumentTypes(),
                                 end->getOperandTypes()));
  symbols.insert(copy, std::next(Block::iterator(body)));
  return known = FlatSymbolRefAttr::get(copy);
}

NodeOp Relayer::replace(NodeOp node, ArrayRef<int64_t> arguments,
                        ArrayRef<int64_t> dropped) {
  SmallVector<mlir::Value> kept;
  for (auto [number, result] : llvm::enumerate(node.getOutputs()))
    if (!llvm::is_contained(dropped, int64_t(number)))
      kept.push_back(result);
  SmallVector<Type> types(ValueRange(kept).getTypes());
  for (int64_t number : arguments)
    types.push_back(node.getInputs()[unsigned(number)].getType());
  OpBuilder builder(node);
  OperationState state(node.getLoc(), node->getName(), node->getOperands(),
                       types, node->getAttrs());
  auto other = cast<NodeOp>(builder.create(state));
  other.setCalleeAttr(bodyWith(node, arguments, dropped));
  for (auto [old, result] : llvm::zip(kept, other.getOutputs()))
    old.replaceAllUsesWith(result);
  node.erase();
  return other;
}

/// The argument of which `value` is a copy; null if there is none.
static BlockArgument copiedArgument(mlir::Value value) {
  while (auto copy = value.getDefiningOp<linalg::CopyOp>())
    value = copy.getInputs().front();
  return dyn_cast<BlockArgument>(value);
}

void Relayer::removeCopies(NodeOp node) {
  if (!hasBody(node) || stageOf(node).getRows())
    return;
  auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
  SmallVector<int64_t> dropped;
  for (auto [number, value] :
       llvm::enumerate(body.getBody().front().getTerminator()->getOperands())) {
    BlockArgument argument = copiedArgument(value);
    if (!argument)
      continue;
    mlir::Value source = node.getInputs()[argument.getArgNumber()];
    auto maker = source.getDefiningOp<NodeOp>();
    if (!maker || stageOf(maker).getRows() ||
        source.getType() != value.getType() ||
        stageOf(maker).getDevices() != stageOf(node).getDevices() ||
        !llvm::all_of(node->getResult(unsigned(number)).getUsers(),
                      llvm::IsaPred<NodeOp>))
      continue;
    node->getResult(unsigned(number)).replaceAllUsesWith(source);
    dropped.push_back(int64_t(number));
  }
  if (dropped.empty())
    return;
  removed += int64_t(dropped.size());
  changed.insert(body.getName());
  if (dropped.size() == node->getNumResults())
    node.erase();
  else
    replace(node, {}, dropped);
}

void Relayer::relay(NodeOp node, ArrayRef<int64_t> inputs) {
  StageOp stage = stageOf(node);
  NodeOp relaying = replace(node, inputs, {});
  for (auto [number, copy] :
       llvm::zip_equal(inputs, relaying.getOutputs().take_back(inputs.size())))
    relaying->getOperand(unsigned(number))
        .replaceUsesWithIf(copy, [&](OpOperand &use) {
          auto reader = dyn_cast<NodeOp>(use.getOwner());
          return reader && stageOf(reader) != stage &&
                 !stageOf(reader).getRows() &&
                 stageOf(reader).getDevices() == stage.getDevices() &&
                 relaying->isBeforeInBlock(reader);
        });
}

void Relayer::run() {
  Block &block = graph.getBody().front();
  if (!hasShards(graph))
    return;
  for (NodeOp node : llvm::make_early_inc_range(block.getOps<NodeOp>()))
    removeCopies(node);
  for (NodeOp node : block.getOps<NodeOp>())
    if (!stageOf(node).getRows())
      for (OpResult value : node->getResults())
        findRelays(value);
  for (auto &[node, inputs] : relays) {
    relay(cast<NodeOp>(node), inputs);
    relayed += int64_t(inputs.size());
  }
  eraseUncalled(program->getParentOfType<ModuleOp>(), changed);
  for (BoundaryOp boundary : llvm::make_early_inc_range(
           program.getBody().front().getOps<BoundaryOp>()))
    boundary.erase();
  auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
  writeBoundaries(builder, graph, stageOfLayer);
}

namespace {
struct SendOncePass : impl::SendOnceBase<SendOncePass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      Relayer relayer(program, symbols);
      relayer.run();
      numRelayed += relayer.relayed;
      numRemoved += relayer.removed;
    }
  }
};
} // namespace
} // namespace stagewright::pipeline
