//===- WriteGraph.cpp - a planning problem as a graph without bodies ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphLayout.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Planning/Problem.h"
#include "stagewright/Target/Profile.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::pipeline;

using stagewright::Layer;

namespace {
class GraphWriter {
public:
  GraphWriter(MLIRContext &context, const Problem &problem,
              const GraphLayout &layout)
      : problem(problem), layout(layout), builder(&context),
        loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> write();

private:
  RankedTensorType bytesType(Bytes bytes) {
    return RankedTensorType::get({bytes.value}, builder.getI8Type());
  }
  DictionaryAttr only(Role role) {
    return builder.getDictionaryAttr(attributeOf(builder.getContext(), role));
  }
  GraphOp createGraph();
  void createNode(const NodePlan &node, Block &block);
  CostAttr costOf(LayerPhase place);
  ArrayAttr alternativesOf(const Layer &layer);

  const Problem &problem;
  const GraphLayout &layout;
  OpBuilder builder;
  Location loc;

  std::vector<mlir::Value> made; ///< SSA values, by value of `problem`.
  SmallVector<mlir::Value> yielded;
  SmallVector<int64_t> yieldedTo;
};
} // namespace

GraphOp GraphWriter::createGraph() {
  SmallVector<Type> inputs, outputs;
  SmallVector<Attribute> inputRoles, outputRoles;
  for (size_t number : layout.arguments) {
    const Resident &resident = problem.residents[number];
    inputs.push_back(bytesType(resident.bytes));
    inputRoles.push_back(
        only(resident.kind == ResidentKind::Parameter       ? Role::Parameter
             : resident.kind == ResidentKind::PerMicrobatch ? Role::Batch
                                                            : Role::Constant));
  }
  for (auto [number, parameter] :
       llvm::zip(layout.results, layout.parameterOf)) {
    outputs.push_back(bytesType(problem.residents[number].bytes));
    NamedAttribute facts[] = {
        attributeOf(builder.getContext(), Role::Gradient),
        attributeOf(builder.getContext(), Combine::Sum),
        builder.getNamedAttr(PipelineDialect::kOf,
                             builder.getI64IntegerAttr(int64_t(parameter)))};
    outputRoles.push_back(builder.getDictionaryAttr(facts));
  }
  SmallVector<StringRef> layers(layout.layerNames.begin(),
                                layout.layerNames.end());
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
    inputs.push_back(block.getArgument(unsigned(layout.position[number])));
  for (size_t number : node.inputs)
    inputs.push_back(made[number]);
  for (size_t number : node.outputs) {
    const stagewright::LayerValue &value = problem.values[number];
    outputs.push_back(bytesType(value.bytes));
    if (value.transfer)
      transfer.push_back(value.transfer->value);
  }
  for (size_t number : node.gradients)
    outputs.push_back(bytesType(problem.residents[number].bytes));
  const Layer &layer = problem.layers[node.place.layer];
  bool forward = node.place.phase == ActionKind::Forward;
  ActionKind phase = forward ? ActionKind::Forward
                     : node.place.phase == ActionKind::WeightGradient
                         ? ActionKind::WeightGradient
                     : layout.splitBackward ? ActionKind::InputGradient
                                            : ActionKind::Backward;
  auto op = NodeOp::create(builder, loc, outputs, layout.nodeName(node.place),
                           FlatSymbolRefAttr(), phase, node.place.layer, inputs,
                           costOf(node.place));
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
    yieldedTo.push_back(int64_t(layout.position[number]));
  }
}

OwningOpRef<ModuleOp> GraphWriter::write() {
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
  for (const NodePlan &node : layout.nodes)
    createNode(node, *block);
  YieldOp::create(builder, loc, yielded,
                  builder.getDenseI64ArrayAttr(yieldedTo));
  return module;
}

Result<OwningOpRef<ModuleOp>> stagewright::writeGraph(MLIRContext &context,
                                                      const Problem &problem) {
  context.loadDialect<PipelineDialect>();
  Result<GraphLayout> layout = GraphLayout::create(problem);
  if (!layout)
    return layout.error();
  return GraphWriter(context, problem, *layout).write();
}
