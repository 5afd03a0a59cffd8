//===- GraphProblem.cpp - a graph as a planning problem -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/GraphProblem.h"
#include "GraphLevels.h"
#include "HandedOver.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/Annotations.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/Rows.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Cost/Roofline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Planning/Problem.h"
#include "stagewright/Planning/Request.h"
#include <map>

namespace stagewright::pipeline {

/// Seconds of `node` on `device`; none if it was measured on other classes
/// only.
static std::optional<Seconds> secondsOf(NodeOp node, const Device &device,
                                        FlopCounter &counter) {
  CostAttr cost = node.getCostAttr();
  if (DictionaryAttr seconds = cost.getSeconds()) {
    if (auto time = seconds.getAs<FloatAttr>(device.deviceClass))
      return Seconds(time.getValueAsDouble());
    if (auto time = seconds.getAs<FloatAttr>(kProfiledClass))
      return Seconds(time.getValueAsDouble()) * (1 / device.speed);
    if (!cost.getFlops() && !cost.getRead() && !cost.getWritten())
      return std::nullopt;
  }
  return rooflineSeconds(workOf(node, counter), device);
}

/// Reads an attribute of a node that maps layers to bytes.
static std::map<int64_t, double> bytesByLayer(DictionaryAttr entries) {
  std::map<int64_t, double> bytes;
  if (entries)
    for (NamedAttribute entry : entries)
      bytes[std::stoll(entry.getName().str())] =
          cast<FloatAttr>(entry.getValue()).getValueAsDouble();
  return bytes;
}

/// Sets the properties of the whole layer that `node` states.
static void addLayerFacts(NodeOp node, const HandedOver &handed, Layer &layer) {
  layer.temporaries =
      std::max(layer.temporaries,
               Bytes(handed.temporariesOf(node, node.getWorkspace())));
  if (node.getSliceable() == false)
    layer.sliceable = false;
  if (node.getMixes())
    layer.mixes = node.getMixes()->str();
  auto number = [](FloatAttr value) {
    return value ? value.getValueAsDouble() : 0.0;
  };
  if (ArrayAttr ways = node.getAlternativesAttr())
    for (auto way : ways.getAsRange<AlternativeAttr>())
      layer.alternatives.push_back(
          {way.getName().str(), way.getWays(),
           way.getRecompute() && way.getRecompute().getValue(),
           Seconds(number(way.getSeconds())), Bytes(way.getParameters()),
           number(way.getPerSample()), number(way.getFixed()),
           bytesByLayer(way.getSyncIn()), bytesByLayer(way.getSyncOut())});
}

/// Adds the seconds of `node` to its layer, and its results to the problem's
/// values; `values` maps results to the numbers of these.
static LogicalResult addNode(NodeOp node, ArrayRef<std::string> classes,
                             FlopCounter &counter, const HandedOver &handed,
                             Problem &problem, ValueNumbers &values) {
  if (!node.getCostAttr())
    return node.emitOpError() << "'" << node.getNodeName()
                              << "' has no cost; run pipeline-estimate-cost";
  ActionKind phase = actionPhase(node.getPhase());
  int64_t layer = node.getLayer();
  for (size_t c = 0; c < classes.size(); ++c) {
    const Device &device =
        *llvm::find_if(problem.cluster.devices, [&](const Device &d) {
          return d.deviceClass == classes[c];
        });
    StageTimes &times = problem.layers[layer].times[c];
    Seconds &time = phase == ActionKind::Forward         ? times.forward
                    : phase == ActionKind::InputGradient ? times.inputGradient
                                                         : times.weightGradient;
    std::optional<Seconds> seconds = secondsOf(node, device, counter);
    if (!seconds)
      return node.emitOpError()
             << "'" << node.getNodeName()
             << "' has no seconds for device class '" << device.deviceClass
             << "', nor for '" << kProfiledClass << "'";
    time += *seconds;
  }
  addLayerFacts(node, handed, problem.layers[layer]);
  ArrayRef<double> transfer = node.getTransfer().value_or(ArrayRef<double>());
  for (OpResult result : node->getResults()) {
    stagewright::LayerValue value = {
        Bytes(bytesOf(result.getType())), {layer, phase}, {}};
    if (result.getResultNumber() < transfer.size())
      value.transfer = Seconds(transfer[result.getResultNumber()]);
    for (Operation *user : result.getUsers())
      if (auto consumer = dyn_cast<NodeOp>(user))
        value.uses.push_back({static_cast<int64_t>(consumer.getLayer()),
                              actionPhase(consumer.getPhase())});
    if (value.uses.empty())
      continue;
    values[result] = problem.values.size();
    problem.values.push_back(std::move(value));
  }
  return success();
}

/// Inputs of the step: parameters and constants once, batches per microbatch.
static void addArguments(GraphOp graph, Problem &problem) {
  for (BlockArgument argument : graph.getBody().getArguments()) {
    std::optional<Role> role = argumentRole(graph, argument.getArgNumber());
    Resident resident;
    resident.bytes = Bytes(bytesOf(argument.getType()));
    if (!role || role == Role::Batch || role == Role::Microbatch)
      resident.kind = ResidentKind::PerMicrobatch;
    else if (role == Role::Parameter)
      resident.kind = ResidentKind::Parameter;
    for (Operation *user : argument.getUsers())
      if (auto node = dyn_cast<NodeOp>(user))
        resident.layers.push_back(node.getLayer());
    llvm::sort(resident.layers);
    problem.residents.push_back(std::move(resident));
  }
}

/// Results of the step: a buffer on every stage that makes a part of one (an
/// accumulator for gradients), per microbatch if concatenated.
static void addResults(GraphOp graph, Problem &problem) {
  auto yield = cast<YieldOp>(graph.getBody().front().getTerminator());
  std::map<int64_t, Resident> residents;
  for (auto [value, number] :
       llvm::zip(yield.getValues(), yield.getResults())) {
    auto node = value.getDefiningOp<NodeOp>();
    if (!node)
      continue;
    Resident &resident = residents[number];
    resident.bytes = Bytes(bytesOf(value.getType()));
    if (combineOf(graph, number) == Combine::Concat)
      resident.kind = ResidentKind::PerMicrobatch;
    else if (resultRole(graph, number) == Role::Gradient)
      resident.kind = ResidentKind::Gradient;
    resident.layers.push_back(node.getLayer());
  }
  for (auto &[number, resident] : residents) {
    llvm::sort(resident.layers);
    problem.residents.push_back(std::move(resident));
  }
}

/// Bytes of optimizer state per byte of parameters; 0 without an optimizer.
static double optimizerState(GraphOp graph) {
  auto module = graph->getParentOfType<ModuleOp>();
  auto update =
      module ? module.lookupSymbol<func::FuncOp>("update") : func::FuncOp();
  if (!update)
    return 0;
  double state = 0, parameters = 0;
  for (auto [number, type] : llvm::enumerate(update.getArgumentTypes())) {
    std::optional<Role> role = argumentRole(update, number);
    if (role == Role::State)
      state += double(bytesOf(type));
    if (role == Role::Parameter)
      parameters += double(bytesOf(type));
  }
  return parameters > 0 ? state / parameters : 0;
}

FailureOr<Problem> problemOf(GraphOp graph, const Cluster &cluster) {
  Problem problem;
  problem.model.optimizerState = optimizerState(graph);
  problem.cluster = cluster;
  problem.forwardOnly = isForwardOnly(graph);
  problem.wholeBackward = hasWholeBackward(graph);
  // The nodes of a profile have no bodies, and their values no slots to align.
  if (llvm::any_of(graph.getBody().front().getOps<NodeOp>(),
                   [](NodeOp node) { return node.getCallee().has_value(); }))
    problem.slotAlignment = kSlotAlignment;
  problem.orders.assign(std::begin(kProgramOrders), std::end(kProgramOrders));
  std::vector<std::string> classes = cluster.classes();
  for (int64_t layer = 0; layer < graph.getNumLayers(); ++layer)
    problem.layers.push_back({graph.getLayerName(layer).str(),
                              std::vector<StageTimes>(classes.size())});
  FlopCounter counter;
  HandedOver handed(graph);
  ValueNumbers values;
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
    if (failed(addNode(node, classes, counter, handed, problem, values)))
      return failure();
  addLevels(graph, values, handed, problem);
  addArguments(graph, problem);
  addResults(graph, problem);
  for (const AnnotatedLayers &own : annotatedLayers(graph)) {
    if (own.annotation.splits)
      return graph.emitOpError()
             << "has layers that are to be split, by " << own.annotation.text()
             << ", but they are whole; compile the step with pp-compile, or "
             << "give stagewright-pipeline shards=" << own.annotation.count;
    problem.askedStages.push_back(
        {own.first, own.end, own.annotation.count, own.annotation.text()});
  }
  return problem;
}

std::optional<int64_t> statedMicrobatches(ModuleOp module) {
  auto stated =
      module->getAttrOfType<IntegerAttr>(PipelineDialect::kMicrobatches);
  return stated ? std::optional(stated.getInt()) : std::nullopt;
}

void shareMicrobatches(GraphOp graph, Problem &problem) {
  problem.samples = rowsOf(graph).samples;
  HandedOver handed(graph);
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
    Layer &layer = problem.layers[node.getLayer()];
    layer.sampleTemporaries = std::max(
        layer.sampleTemporaries,
        Bytes(handed.temporariesOf(node, node.getSampleWorkspace(),
                                   std::max<int64_t>(1, problem.samples))));
  }
  addSampleTemporaries(graph, handed, problem);
}

} // namespace stagewright::pipeline
