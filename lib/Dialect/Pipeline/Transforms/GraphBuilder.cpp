//===- GraphBuilder.cpp - write nodes and bodies --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"
#include "mlir/IR/IRMapping.h"

namespace stagewright::pipeline {

//===----------------------------------------------------------------------===//
// Which operation goes into which node
//===----------------------------------------------------------------------===//

int GraphBuilder::nodeNumber(int layer, ActionKind phase) const {
  int count = layers.size();
  if (phase == ActionKind::Forward)
    return layer;
  return count + 2 * (count - 1 - layer) +
         (phase == ActionKind::WeightGradient ? 1 : 0);
}

void GraphBuilder::assignNodes() {
  int count = layers.size();
  nodes.resize(3 * count);
  for (int layer = 0; layer < count; ++layer)
    for (ActionKind phase : {ActionKind::Forward, ActionKind::InputGradient,
                             ActionKind::WeightGradient}) {
      Node &node = nodes[nodeNumber(layer, phase)];
      node.layer = layer;
      node.phase = phase;
    }

  // Phase I has the operations on which backwards of other layers depend.
  std::vector<bool> awaited(graph.ops.size(), false);
  nodeOf.assign(graph.ops.size(), -1);
  for (size_t number = graph.ops.size(); number-- > 0;) {
    const StepOp &entry = graph.ops[number];
    int layer = layers.layerOf[number];
    if (entry.isChained() || stash.movedToForward[number])
      nodeOf[number] = nodeNumber(layer, ActionKind::Forward);
    if (nodeOf[number] >= 0 || !entry.isBackward())
      continue;
    for (unsigned user : entry.users)
      if (graph.ops[user].live &&
          (layers.layerOf[user] != layer || awaited[user]))
        awaited[number] = true;
    nodeOf[number] =
        nodeNumber(layer, awaited[number] ? ActionKind::InputGradient
                                          : ActionKind::WeightGradient);
  }
  for (size_t number = 0; number < nodeOf.size(); ++number)
    // A factor computed in the backward is copied into every node that reads
    // it, like repeated forward work.
    if (nodeOf[number] >= 0 &&
        !(graph.ops[number].isBackward() && stash.inBackward[number]))
      nodes[nodeOf[number]].own.push_back(number);
}

bool GraphBuilder::isCopiedInto(const Node &node, unsigned number) const {
  const StepOp &entry = graph.ops[number];
  if (entry.free) {
    if (node.phase == ActionKind::Forward)
      return true;
    return llvm::none_of(entry.op->getResults(), [&](Value result) {
      return stash.keptFree[node.layer].contains(result);
    });
  }
  return node.phase != ActionKind::Forward &&
         layers.layerOf[number] == node.layer && stash.inBackward[number];
}

int GraphBuilder::ownerOf(Value value, const Node &reader) const {
  unsigned number = graph.indexOf(value);
  return graph.ops[number].free ? nodeNumber(reader.layer, ActionKind::Forward)
                                : nodeOf[number];
}

//===----------------------------------------------------------------------===//
// Order, inputs and exports of every body
//===----------------------------------------------------------------------===//

void GraphBuilder::need(Node &node, Value value) {
  int number = graph.indexOf(value);
  if (number < 0) {
    node.inputs.insert(value);
    return;
  }
  if (isCopiedInto(node, number)) {
    if (node.copies.insert(number).second)
      emit(node, number);
    return;
  }
  Node &owner = nodes[ownerOf(value, node)];
  if (&owner == &node)
    return;
  node.inputs.insert(value);
  owner.exports.insert(value);
}

void GraphBuilder::emit(Node &node, unsigned number) {
  for (Value operand : graph.ops[number].operands)
    need(node, operand);
  for (unsigned scalar : graph.ops[number].scalars)
    if (node.copies.insert(scalar).second)
      node.body.push_back(scalar);
  node.body.push_back(number);
}

int GraphBuilder::nodeOfYield(const ResultPart &part) const {
  int number = graph.indexOf(part.value);
  if (number >= 0 && !graph.ops[number].free)
    return nodeOf[number];
  if (!graph.isGradient(part.result))
    return nodeNumber(layers.size() - 1, ActionKind::Forward);
  // The gradient of a parameter that the loss does not depend on belongs to the
  // layer that first reads the parameter, else to the first layer.
  FunctionOpInterface step = graph.step;
  auto of =
      step.getResultAttrOfType<IntegerAttr>(part.result, PipelineDialect::kOf);
  int layer = 0;
  if (of && of.getInt() < static_cast<int64_t>(step.getNumArguments())) {
    Value parameter = step.getArgument(of.getInt());
    int first = layers.size();
    for (size_t n = 0; n < graph.ops.size(); ++n)
      if (layers.layerOf[n] >= 0 &&
          llvm::is_contained(graph.ops[n].operands, parameter))
        first = std::min(first, layers.layerOf[n]);
    layer = first == layers.size() ? 0 : first;
  }
  return nodeNumber(layer, ActionKind::WeightGradient);
}

void GraphBuilder::assignYields() {
  for (auto [number, part] : llvm::enumerate(parts))
    nodes[nodeOfYield(part)].yields.push_back(number);
}

void GraphBuilder::plan() {
  // Readers are planned before producers, so that a forward knows which free
  // values it keeps for its backward.
  for (Node &node : llvm::reverse(nodes)) {
    std::vector<unsigned> own = std::move(node.own);
    for (unsigned number : own)
      emit(node, number);
    for (unsigned number : node.yields)
      need(node, parts[number].value);
    for (Value value : llvm::to_vector(node.exports))
      if (graph.ops[graph.indexOf(value)].free)
        need(node, value);
  }
  for (Node &node : nodes)
    orderOutputs(node);
}

void GraphBuilder::orderOutputs(Node &node) {
  node.outputs = node.exports.takeVector();
  // First the values that another layer reads, then those kept for the
  // backward; each in program order.
  auto isForLater = [&](Value value) {
    unsigned number = graph.indexOf(value);
    return !graph.ops[number].free &&
           llvm::any_of(graph.ops[number].users, [&](unsigned user) {
             return graph.ops[user].live && layers.layerOf[user] != node.layer;
           });
  };
  auto key = [&](Value value) {
    return std::tuple(!isForLater(value), graph.indexOf(value),
                      cast<OpResult>(value).getResultNumber());
  };
  llvm::sort(node.outputs, [&](Value a, Value b) { return key(a) < key(b); });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

func::FuncOp GraphBuilder::makeFunction(Node &node, StringRef name) {
  FunctionOpInterface step = graph.step;
  SmallVector<Type> arguments, results;
  for (Value input : node.inputs)
    arguments.push_back(input.getType());
  for (Value output : node.outputs)
    results.push_back(output.getType());
  for (unsigned number : node.yields)
    results.push_back(parts[number].value.getType());

  auto function = func::FuncOp::create(
      step.getLoc(), name,
      FunctionType::get(step.getContext(), arguments, results));
  function.setPrivate();
  OpBuilder builder = OpBuilder::atBlockEnd(function.addEntryBlock());
  IRMapping map;
  for (auto [input, argument] :
       llvm::zip(node.inputs, function.getArguments())) {
    argument.setLoc(input.getLoc());
    map.map(input, argument);
  }
  for (unsigned number : node.body)
    builder.clone(*graph.ops[number].op, map);
  SmallVector<Value> returned;
  for (Value output : node.outputs)
    returned.push_back(map.lookup(output));
  for (unsigned number : node.yields)
    returned.push_back(map.lookup(parts[number].value));
  func::ReturnOp::create(builder, step.getLoc(), returned);
  return function;
}

FailureOr<GraphOp> GraphBuilder::build() {
  assignNodes();
  assignYields();
  plan();

  FunctionOpInterface step = graph.step;
  auto source = cast<func::FuncOp>(step.getOperation());
  // The symbol table is made before the graph, which has the name of the step.
  SymbolTable symbols(step->getParentOfType<ModuleOp>());
  OpBuilder builder(step);
  builder.setInsertionPointAfter(step);
  SmallVector<StringRef> names(layers.names.begin(), layers.names.end());
  auto result = GraphOp::create(
      builder, step.getLoc(), builder.getStringAttr(step.getName()),
      TypeAttr::get(source.getFunctionType()), builder.getStrArrayAttr(names),
      /*sym_visibility=*/StringAttr(), source.getArgAttrsAttr(),
      source.getResAttrsAttr());
  Block *block = builder.createBlock(&result.getBody());
  IRMapping map;
  for (BlockArgument argument : step.getArguments())
    map.map(argument,
            block->addArgument(argument.getType(), argument.getLoc()));

  Block::iterator place = std::next(Block::iterator(result));
  // A free value kept for the backward has its own producer in each layer.
  llvm::DenseMap<std::pair<int, Value>, Value> kept;
  SmallVector<std::pair<unsigned, Value>> yields;
  for (Node &node : nodes) {
    if (node.outputs.empty() && node.yields.empty())
      continue;
    std::string name =
        (layers.names[node.layer] + Twine(".") + Twine(letter(node.phase)))
            .str();
    func::FuncOp body = makeFunction(node, name);
    StringAttr symbol = symbols.insert(body, place);
    SmallVector<Value> inputs;
    for (Value input : node.inputs) {
      Value own = kept.lookup({node.layer, input});
      inputs.push_back(own ? own : map.lookupOrNull(input));
      if (!inputs.back())
        return emitError(input.getLoc())
               << "node '" << name << "' reads a value of a later node; this "
               << "is a fault of the layer assignment, try another --layers";
    }
    builder.setInsertionPointToEnd(block);
    auto op = NodeOp::create(builder, body.getLoc(), body.getResultTypes(),
                             name, FlatSymbolRefAttr::get(symbol), node.phase,
                             node.layer, inputs, CostAttr());
    for (auto [output, value] : llvm::zip(node.outputs, op.getOutputs())) {
      if (graph.ops[graph.indexOf(output)].free)
        kept[{node.layer, output}] = value;
      else
        map.map(output, value);
    }
    for (auto [number, value] : llvm::zip(
             node.yields, op.getOutputs().drop_front(node.outputs.size())))
      yields.push_back({number, value});
  }
  llvm::sort(yields, llvm::less_first());
  SmallVector<Value> values;
  SmallVector<int64_t> numbers;
  for (auto [number, value] : yields) {
    values.push_back(value);
    numbers.push_back(parts[number].result);
  }
  YieldOp::create(builder, step.getLoc(), values, numbers);
  return result;
}

} // namespace stagewright::pipeline
