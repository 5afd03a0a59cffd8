//===- WriteGraph.cpp - a planning problem as a graph without bodies ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Planning/Formats.h"
#include "stagewright/Target/Profile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::pipeline;

using stagewright::Layer;
using PlanValue = stagewright::Value;

namespace {
/// A node to be: what it takes and makes, by number of value and resident.
struct NodePlan {
  LayerPhase place;
  std::vector<size_t> inputs, outputs;
  std::vector<size_t> arguments, gradients;
};

class GraphWriter {
public:
  GraphWriter(MLIRContext &context, const Problem &problem)
      : problem(problem), builder(&context), loc(builder.getUnknownLoc()) {}

  Result<OwningOpRef<ModuleOp>> write();

private:
  void listNodes();
  Status placeValues();
  Status placeResidents();
  void nameLayers();

  size_t numberOf(LayerPhase place) const;
  RankedTensorType bytesType(Bytes bytes) {
    return RankedTensorType::get({bytes.value}, builder.getI8Type());
  }
  DictionaryAttr role(StringRef name) {
    return builder.getDictionaryAttr(builder.getNamedAttr(
        PipelineDialect::kRole, builder.getStringAttr(name)));
  }
  GraphOp createGraph();
  void createNode(const NodePlan &node, Block &block);
  CostAttr costOf(LayerPhase place);
  ArrayAttr alternativesOf(const Layer &layer);

  const Problem &problem;
  OpBuilder builder;
  Location loc;
  bool splitBackward = false;
  std::vector<NodePlan> nodes; ///< In the order of the block.
  std::vector<std::string> names;
  /// Numbers of residents that are arguments and results of the graph, in
  /// order; where a resident stands among them.
  std::vector<size_t> arguments, results, position;
  std::vector<size_t> parameterOf; ///< Argument of each result.

  std::vector<mlir::Value> made; ///< Of each value.
  SmallVector<mlir::Value> yielded;
  SmallVector<int64_t> yieldedTo;
};
} // namespace

/// Forwards by layer, then backwards from the last layer to the first.
void GraphWriter::listNodes() {
  auto isW = [](const LayerPhase &place) {
    return place.phase == ActionKind::WeightGradient;
  };
  splitBackward =
      llvm::any_of(problem.layers,
                   [](const Layer &layer) {
                     return llvm::any_of(layer.times, [](StageTimes times) {
                       return times.weightGradient.value > 0;
                     });
                   }) ||
      llvm::any_of(problem.values, [&](const PlanValue &value) {
        return isW(value.producer) || llvm::any_of(value.uses, isW);
      });
  int64_t layers = int64_t(problem.layers.size());
  for (int64_t layer = 0; layer < layers; ++layer)
    nodes.push_back({{layer, ActionKind::Forward}, {}, {}, {}, {}});
  if (problem.forwardOnly)
    return;
  for (int64_t layer = layers; layer-- > 0;) {
    nodes.push_back({{layer, ActionKind::InputGradient}, {}, {}, {}, {}});
    if (splitBackward)
      nodes.push_back({{layer, ActionKind::WeightGradient}, {}, {}, {}, {}});
  }
}

size_t GraphWriter::numberOf(LayerPhase place) const {
  size_t layers = problem.layers.size();
  if (place.phase == ActionKind::Forward)
    return size_t(place.layer);
  size_t fromEnd = layers - 1 - size_t(place.layer);
  return layers + (splitBackward ? 2 * fromEnd : fromEnd) +
         (place.phase == ActionKind::WeightGradient ? 1 : 0);
}

static const char *suffixOf(ActionKind phase, bool splitBackward) {
  return phase == ActionKind::Forward          ? ".F"
         : phase == ActionKind::WeightGradient ? ".W"
         : splitBackward                       ? ".I"
                                               : ".B";
}

Status GraphWriter::placeValues() {
  // Those with a stated transfer come first among the results of a node.
  for (bool stated : {true, false})
    for (auto [number, value] : llvm::enumerate(problem.values)) {
      if (value.uses.empty() || value.transfer.has_value() != stated)
        continue;
      size_t producer = numberOf(value.producer);
      if (producer < nodes.size())
        nodes[producer].outputs.push_back(number);
    }
  for (auto [number, value] : llvm::enumerate(problem.values))
    for (const LayerPhase &use : value.uses) {
      size_t producer = numberOf(value.producer), consumer = numberOf(use);
      if (producer >= nodes.size() || consumer >= nodes.size())
        return Error{"a problem without backwards has a value of phase I or W "
                     "of layer '" +
                     problem.layers[value.producer.layer].name + "'"};
      if (producer >= consumer)
        return Error{"a value goes from " + names[value.producer.layer] +
                     suffixOf(value.producer.phase, splitBackward) +
                     " back to " + names[use.layer] +
                     suffixOf(use.phase, splitBackward) +
                     ", which runs before it"};
      std::vector<size_t> &inputs = nodes[consumer].inputs;
      if (inputs.empty() || inputs.back() != number)
        inputs.push_back(number);
    }
  return {};
}

Status GraphWriter::placeResidents() {
  position.resize(problem.residents.size());
  // Parameters that have no gradient yet, by what must be equal.
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::vector<size_t>> open;
  for (auto [number, resident] : llvm::enumerate(problem.residents)) {
    if (resident.layers.empty() || resident.kind == ResidentKind::Gradient)
      continue;
    position[number] = arguments.size();
    arguments.push_back(number);
    if (resident.kind == ResidentKind::Parameter)
      open[{resident.bytes.value, resident.layers}].push_back(number);
    for (int64_t layer : resident.layers)
      nodes[numberOf({layer, ActionKind::Forward})].arguments.push_back(number);
  }
  for (auto [number, resident] : llvm::enumerate(problem.residents)) {
    if (resident.layers.empty() || resident.kind != ResidentKind::Gradient)
      continue;
    std::vector<size_t> &parameters =
        open[{resident.bytes.value, resident.layers}];
    const std::string &layer = problem.layers[resident.layers.front()].name;
    if (parameters.empty() || problem.forwardOnly)
      return Error{"a gradient of " + toString(resident.bytes) + " of layer '" +
                   layer + "' has no " +
                   (problem.forwardOnly ? "backward" : "parameter")};
    parameterOf.push_back(position[parameters.front()]);
    parameters.erase(parameters.begin());
    position[number] = results.size();
    results.push_back(number);
    ActionKind phase =
        splitBackward ? ActionKind::WeightGradient : ActionKind::InputGradient;
    for (int64_t of : resident.layers)
      nodes[numberOf({of, phase})].gradients.push_back(number);
  }
  return {};
}

/// Names of nodes are unique, those of layers need not be.
void GraphWriter::nameLayers() {
  llvm::StringSet<> taken;
  for (const Layer &layer : problem.layers) {
    std::string name = layer.name;
    for (size_t i = 2; !taken.insert(name).second; ++i)
      name = layer.name + " " + std::to_string(i);
    names.push_back(name);
  }
}

GraphOp GraphWriter::createGraph() {
  SmallVector<Type> inputs, outputs;
  SmallVector<Attribute> inputRoles, outputRoles;
  for (size_t number : arguments) {
    const Resident &resident = problem.residents[number];
    inputs.push_back(bytesType(resident.bytes));
    inputRoles.push_back(
        role(resident.kind == ResidentKind::Parameter       ? "parameter"
             : resident.kind == ResidentKind::PerMicrobatch ? "batch"
                                                            : "constant"));
  }
  for (auto [number, parameter] : llvm::zip(results, parameterOf)) {
    outputs.push_back(bytesType(problem.residents[number].bytes));
    NamedAttribute facts[] = {
        builder.getNamedAttr(PipelineDialect::kRole,
                             builder.getStringAttr("gradient")),
        builder.getNamedAttr(PipelineDialect::kCombine,
                             builder.getStringAttr("sum")),
        builder.getNamedAttr(PipelineDialect::kOf,
                             builder.getI64IntegerAttr(int64_t(parameter)))};
    outputRoles.push_back(builder.getDictionaryAttr(facts));
  }
  SmallVector<StringRef> layers(names.begin(), names.end());
  return GraphOp::create(
      builder, loc, builder.getStringAttr("step"),
      TypeAttr::get(builder.getFunctionType(inputs, outputs)),
      builder.getStrArrayAttr(layers), /*sym_visibility=*/StringAttr(),
      inputs.empty() ? ArrayAttr() : builder.getArrayAttr(inputRoles),
      outputs.empty() ? ArrayAttr() : builder.getArrayAttr(outputRoles));
}

CostAttr GraphWriter::costOf(LayerPhase place) {
  std::vector<std::string> classes = problem.cluster.classes();
  const std::vector<StageTimes> &times = problem.layers[place.layer].times;
  SmallVector<NamedAttribute> seconds;
  for (auto [number, of] : llvm::enumerate(times)) {
    Seconds time = place.phase == ActionKind::Forward ? of.forward
                   : place.phase == ActionKind::InputGradient
                       ? of.inputGradient
                       : of.weightGradient;
    seconds.push_back(builder.getNamedAttr(
        classes.empty() ? kProfiledClass : classes[number].c_str(),
        builder.getF64FloatAttr(time.value)));
  }
  return CostAttr::get(builder.getContext(), 0, 0, 0,
                       builder.getDictionaryAttr(seconds));
}

ArrayAttr GraphWriter::alternativesOf(const Layer &layer) {
  auto number = [&](double value) {
    return value == 0 ? FloatAttr() : builder.getF64FloatAttr(value);
  };
  auto sync = [&](const std::map<int64_t, double> &bytes) {
    SmallVector<NamedAttribute> entries;
    for (auto [other, more] : bytes)
      entries.push_back(builder.getNamedAttr(std::to_string(other),
                                             builder.getF64FloatAttr(more)));
    return entries.empty() ? DictionaryAttr()
                           : builder.getDictionaryAttr(entries);
  };
  SmallVector<Attribute> list;
  for (const Alternative &way : layer.alternatives)
    list.push_back(AlternativeAttr::get(
        builder.getContext(), builder.getStringAttr(way.name), way.ways,
        way.recompute ? builder.getBoolAttr(true) : BoolAttr(),
        builder.getF64FloatAttr(way.time.value), way.parameters.value,
        number(way.memoryPerSample), number(way.memoryFixed), sync(way.syncIn),
        sync(way.syncOut)));
  return list.empty() ? ArrayAttr() : builder.getArrayAttr(list);
}

void GraphWriter::createNode(const NodePlan &node, Block &block) {
  SmallVector<mlir::Value> inputs;
  SmallVector<Type> outputs;
  SmallVector<double> transfer;
  for (size_t number : node.arguments)
    inputs.push_back(block.getArgument(unsigned(position[number])));
  for (size_t number : node.inputs)
    inputs.push_back(made[number]);
  for (size_t number : node.outputs) {
    const PlanValue &value = problem.values[number];
    outputs.push_back(bytesType(value.bytes));
    if (value.transfer)
      transfer.push_back(value.transfer->value);
  }
  for (size_t number : node.gradients)
    outputs.push_back(bytesType(problem.residents[number].bytes));
  const Layer &layer = problem.layers[node.place.layer];
  bool forward = node.place.phase == ActionKind::Forward;
  Phase phase = forward                                          ? Phase::F
                : node.place.phase == ActionKind::WeightGradient ? Phase::W
                : splitBackward                                  ? Phase::I
                                                                 : Phase::B;
  auto op = NodeOp::create(
      builder, loc, outputs,
      names[node.place.layer] + suffixOf(node.place.phase, splitBackward),
      FlatSymbolRefAttr(), phase, node.place.layer, inputs, costOf(node.place));
  if (!transfer.empty())
    op.setTransferAttr(builder.getDenseF64ArrayAttr(transfer));
  if (forward)
    op.setAlternativesAttr(alternativesOf(layer));
  if (forward && !layer.sliceable)
    op.setSliceableAttr(builder.getBoolAttr(false));
  for (auto [i, number] : llvm::enumerate(node.outputs))
    made[number] = op.getOutputs()[i];
  for (auto [i, number] : llvm::enumerate(node.gradients)) {
    yielded.push_back(op.getOutputs()[node.outputs.size() + i]);
    yieldedTo.push_back(int64_t(position[number]));
  }
}

Result<OwningOpRef<ModuleOp>> GraphWriter::write() {
  size_t classes = std::max<size_t>(problem.cluster.classes().size(), 1);
  for (const Layer &layer : problem.layers)
    if (layer.times.size() != classes)
      return Error{"layer '" + layer.name + "' has times for " +
                   std::to_string(layer.times.size()) +
                   " device classes, expected " + std::to_string(classes)};
  nameLayers();
  listNodes();
  if (Status status = placeValues(); !status)
    return status.error();
  if (Status status = placeResidents(); !status)
    return status.error();

  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  if (problem.microbatches > 1)
    (*module)->setAttr(PipelineDialect::kMicrobatches,
                       builder.getI64IntegerAttr(problem.microbatches));
  builder.setInsertionPointToEnd(module->getBody());
  if (!problem.cluster.devices.empty())
    writeCluster(*module, problem.cluster);
  GraphOp graph = createGraph();
  Block *block = builder.createBlock(&graph.getBody());
  for (Type type : graph.getArgumentTypes())
    block->addArgument(type, loc);
  made.resize(problem.values.size());
  for (const NodePlan &node : nodes)
    createNode(node, *block);
  YieldOp::create(builder, loc, yielded,
                  builder.getDenseI64ArrayAttr(yieldedTo));
  return module;
}

Result<OwningOpRef<ModuleOp>> stagewright::writeGraph(MLIRContext &context,
                                                      const Problem &problem) {
  context.loadDialect<PipelineDialect>();
  return GraphWriter(context, problem).write();
}
