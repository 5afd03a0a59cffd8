//===- PipelineOps.cpp - verifiers and assembly of the pipeline ops -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The labels (graph_c1, …) are those of the constraints in PipelineOps.td and
// of the tests.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/FunctionLike.h"
#include "stagewright/Dialect/Pipeline/IR/DestinationStyle.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Scheduling/Gangs.h"
#include "stagewright/Support/Limits.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace stagewright;
using namespace stagewright::pipeline;

#define GET_OP_CLASSES
#include "stagewright/Dialect/Pipeline/IR/PipelineOps.cpp.inc"

//===----------------------------------------------------------------------===//
// GraphOp
//===----------------------------------------------------------------------===//

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  return stagewright::parseFunctionLike<GraphOp>(parser, result);
}

void GraphOp::print(OpAsmPrinter &printer) {
  stagewright::printFunctionLike(printer, *this);
}

/// Checks the phases and layers of the edge from `producer` to `node`: forwards
/// go to the same or later layers, backwards to the same or earlier ones.
static LogicalResult verifyEdge(NodeOp node, NodeOp producer) {
  auto isForward = [](ActionKind phase) {
    return phase == ActionKind::Forward || phase == ActionKind::Recompute;
  };
  bool forward = isForward(node.getPhase());
  bool producedForward = isForward(producer.getPhase());
  if (forward && (!producedForward ||
                  (node.getPhase() == ActionKind::Forward &&
                   producer.getPhase() == ActionKind::Recompute))) // graph_c3
    return (node.emitOpError()
            << "of phase " << letter(node.getPhase())
            << " must take values of phase "
            << (node.getPhase() == ActionKind::Forward ? "F" : "F or R")
            << ", got one of phase " << letter(producer.getPhase()))
               .attachNote(producer.getLoc())
           << "made by node '" << producer.getNodeName() << "'";
  bool ordered =
      forward ? producer.getLayer() <= node.getLayer()
              : producedForward || producer.getLayer() >= node.getLayer();
  if (!ordered) // graph_c3, graph_c4
    return (node.emitOpError()
            << "of phase " << letter(node.getPhase()) << " in layer "
            << node.getLayer() << " cannot take a value of layer "
            << producer.getLayer())
               .attachNote(producer.getLoc())
           << "made by node '" << producer.getNodeName() << "'";
  return success();
}

LogicalResult GraphOp::verifyRegions() {
  if (getBody().empty())
    return emitOpError("needs a body");
  llvm::StringSet<> names;
  for (Operation &op : getBody().front().without_terminator()) {
    auto node = dyn_cast<NodeOp>(op);
    if (!node)
      return emitOpError() << "holds nodes only, got '" << op.getName() << "'";
    int64_t layer = node.getLayer();
    if (layer < 0 || layer >= getNumLayers()) // graph_c1
      return node.emitOpError()
             << "layer must be at least 0 and less than " << getNumLayers()
             << ", the number of layers, got " << layer;
    if (!names.insert(node.getNodeName()).second) // graph_c2
      return node.emitOpError()
             << "name '" << node.getNodeName() << "' is taken by another node";
    for (Value input : node.getInputs())
      if (auto producer = input.getDefiningOp<NodeOp>())
        if (failed(verifyEdge(node, producer)))
          return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// NodeOp, YieldOp
//===----------------------------------------------------------------------===//

void NodeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getOutputs().empty())
    setName(getOutputs().front(), getNodeName());
}

/// Checks node_c3: the keys of `layers` are layers of the graph.
static LogicalResult verifyLayers(NodeOp node, DictionaryAttr layers) {
  auto graph = cast<GraphOp>(node->getParentOp());
  if (!layers)
    return success();
  for (NamedAttribute entry : layers) {
    int64_t layer;
    if (entry.getName().strref().getAsInteger(10, layer) ||
        layer >= graph.getNumLayers())
      return node.emitOpError()
             << "alternative names layer " << entry.getName().getValue()
             << ", the graph has " << graph.getNumLayers();
  }
  return success();
}

LogicalResult NodeOp::verify() {
  if (std::optional<ArrayRef<double>> transfer = getTransfer()) { // node_c2
    if (transfer->size() > getNumResults())
      return emitOpError() << "has " << getNumResults()
                           << " results and transfer times for "
                           << transfer->size();
    for (double seconds : *transfer)
      if (!(seconds >= 0.0) || !std::isfinite(seconds))
        return emitOpError() << "transfer times must be finite and at least 0, "
                             << "got " << seconds;
  }
  if (ArrayAttr alternatives = getAlternativesAttr()) // node_c3
    for (auto alternative : alternatives.getAsRange<AlternativeAttr>())
      if (failed(verifyLayers(*this, alternative.getSyncIn())) ||
          failed(verifyLayers(*this, alternative.getSyncOut())))
        return failure();
  if (getPhase() == ActionKind::Update) // node_c5
    return emitOpError() << "has phase U, which no layer has; write F, B, I, W "
                         << "or R";
  if (getLevelsAttr() && getPhase() != ActionKind::Forward) // node_c4
    return emitOpError() << "of phase " << letter(getPhase())
                         << " has levels, which only a forward has";
  return success();
}

/// Checks node_c4 for one level: its functions, and the values they refer to.
static LogicalResult verifyLevel(NodeOp node, LevelAttr level,
                                 SymbolTableCollection &symbols) {
  auto find = [&](FlatSymbolRefAttr name) {
    return symbols.lookupNearestSymbolFrom<FunctionOpInterface>(node, name);
  };
  FunctionOpInterface forward = find(level.getForward()),
                      again = find(level.getAgain());
  auto wrong = [&](const Twine &what) {
    return node.emitOpError()
           << "level @" << level.getForward().getValue() << ", @"
           << level.getAgain().getValue() << " " << what;
  };
  if (!forward || !again)
    return wrong("names a symbol that is not a function");
  if (TypeRange(forward.getArgumentTypes()) != TypeRange(node.getInputs()))
    return wrong("takes other arguments than the node");
  if (level.getResults().size() != int64_t(forward.getNumResults()) ||
      level.getInputs().size() != int64_t(again.getNumArguments()) ||
      level.getRemade().size() != int64_t(again.getNumResults()))
    return wrong(
        "needs one number in results for each result of forward, in inputs for "
        "each argument of again, and in remade for each result of again");
  auto typeOf = [](int64_t number, TypeRange types) {
    return number >= 0 && number < int64_t(types.size()) ? types[number]
                                                         : Type();
  };
  TypeRange outputs = node->getResultTypes();
  for (auto [number, type] :
       llvm::zip(level.getResults().asArrayRef(), forward.getResultTypes()))
    if (number != -1 && typeOf(number, outputs) != type)
      return wrong("keeps a value of another type than result " +
                   Twine(number));
  for (auto [number, type] :
       llvm::zip(level.getInputs().asArrayRef(), again.getArgumentTypes()))
    if (typeOf(number, forward.getResultTypes()) != type &&
        typeOf(-1 - number, node.getInputs().getTypes()) != type)
      return wrong(
          "takes value " + Twine(number) +
          ", which does not exist or has another type than the argument");
  for (auto [number, type] :
       llvm::zip(level.getRemade().asArrayRef(), again.getResultTypes()))
    if (typeOf(number, outputs) != type)
      return wrong("makes a value of another type than result " +
                   Twine(number));
  return success();
}

LogicalResult NodeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (ArrayAttr levels = getLevelsAttr())
    for (auto level : levels.getAsRange<LevelAttr>())
      if (failed(verifyLevel(*this, level, symbols)))
        return failure();
  if (!getCalleeAttr())
    return success();
  auto body = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!body) // node_c1
    return emitOpError() << "body @" << *getCallee() << " is not a function";
  if (TypeRange(body.getArgumentTypes()) != TypeRange(getInputs()) ||
      TypeRange(body.getResultTypes()) != TypeRange(getOutputs()))
    return (emitOpError() << "body @" << *getCallee()
                          << " has other types than the node, got "
                          << body.getFunctionType() << " and "
                          << FunctionType::get(getContext(),
                                               getInputs().getTypes(),
                                               getOutputs().getTypes()))
               .attachNote(body.getLoc())
           << "the body is declared here";
  return success();
}

LogicalResult SplitHintOp::verify() {
  int64_t rank = cast<RankedTensorType>(getValue().getType()).getRank();
  if (int64_t(getDim()) >= rank) // split_hint_c1
    return emitOpError() << "dimension must be less than " << rank
                         << ", the rank of " << getValue().getType() << ", got "
                         << getDim();
  int64_t axis = getAxis().value_or(0);
  if (axis < 0 || axis >= PipelineDialect::kGridAxes) // split_hint_c2
    return emitOpError() << "axis of a grid must be from 0 to "
                         << PipelineDialect::kGridAxes - 1 << ", got " << axis;
  return success();
}

LogicalResult YieldOp::verify() {
  auto graph = cast<GraphOp>((*this)->getParentOp());
  ArrayRef<Type> types = graph.getResultTypes();
  if (getResults().size() != getValues().size()) // yield_c1
    return emitOpError() << "needs one result number per operand, got "
                         << getResults().size() << " and "
                         << getValues().size();
  SmallVector<int64_t> parts(types.size(), 0);
  for (auto [value, number] : llvm::zip(getValues(), getResults())) {
    if (number < 0 || number >= int64_t(types.size())) // yield_c1
      return emitOpError() << "result number must be from 0 to "
                           << int64_t(types.size()) - 1 << ", got " << number;
    if (value.getType() != types[number]) // yield_c2
      return emitOpError() << "result " << number << " must be "
                           << types[number] << ", got " << value.getType();
    ++parts[number];
  }
  for (auto [number, count] : llvm::enumerate(parts)) {
    if (count == 0) // yield_c2
      return emitOpError() << "result " << number << " has no operand";
    std::optional<Role> role = resultRole(graph, number);
    bool summed = role == Role::Gradient || role == Role::Loss;
    if (count > 1 && !summed) // yield_c3
      return emitOpError() << "result " << number << " has " << count
                           << " operands, and only a gradient or a loss may "
                           << "come in parts";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ProgramOp, BoundaryOp
//===----------------------------------------------------------------------===//

/// Checks program_c6.
static LogicalResult verifyGangStages(ProgramOp program) {
  GangStages stated;
  for (StageOp stage : program.getBody().front().getOps<StageOp>())
    stated.push_back(stage.getGangStage());
  std::optional<size_t> wrong = firstWrong(stated);
  if (!wrong)
    return success();
  StageOp stage = *std::next(
      program.getBody().front().getOps<StageOp>().begin(), ptrdiff_t(*wrong));
  if (!stated[*wrong] || (*wrong > 0 && !stated[*wrong - 1]))
    return stage.emitOpError()
           << (stated[*wrong] ? "has" : "has no")
           << " 'gang_stage', unlike the stage before; give it to all stages "
           << "or to none";
  int64_t before = *wrong == 0 ? -1 : *stated[*wrong - 1];
  auto error = stage.emitOpError() << "'gang_stage' must be ";
  if (before >= 0)
    error << before << ", as that of the stage before, or ";
  return error << before + 1 << ", got " << *stated[*wrong];
}

/// Checks program_c2, program_c3 and program_c4: the stages of `program`.
static LogicalResult verifyStages(ProgramOp program, GraphOp graph,
                                  ClusterOp cluster) {
  SmallVector<int64_t> stageOf(graph.getNumLayers(), -1);
  int64_t expected = 0;
  for (StageOp stage : program.getBody().front().getOps<StageOp>()) {
    if (static_cast<int64_t>(stage.getIndex()) != expected++)
      return stage.emitOpError() << "number must be " << expected - 1
                                 << ", got " << stage.getIndex();
    llvm::StringSet<> devices;
    for (auto device : stage.getDevices().getAsRange<FlatSymbolRefAttr>()) {
      if (!isa_and_nonnull<DeviceOp>(
              SymbolTable::lookupSymbolIn(cluster, device)))
        return stage.emitOpError()
               << device << " is not a device of @" << cluster.getSymName();
      if (!devices.insert(device.getValue()).second)
        return stage.emitOpError() << "names device " << device << " twice";
    }
    for (int64_t layer : stage.getLayers()) {
      if (layer < 0 || layer >= graph.getNumLayers())
        return stage.emitOpError()
               << "layer must be from 0 to " << graph.getNumLayers() - 1
               << ", got " << layer;
      if (stageOf[layer] >= 0)
        return stage.emitOpError() << "layer " << layer << " lies on stage "
                                   << stageOf[layer] << " already";
      stageOf[layer] = stage.getIndex();
    }
  }
  auto missing = llvm::find(stageOf, -1);
  if (missing != stageOf.end())
    return program.emitOpError()
           << "layer " << (missing - stageOf.begin()) << " ('"
           << graph.getLayerName(missing - stageOf.begin())
           << "') lies on no stage";
  return success();
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto graph = symbols.lookupNearestSymbolFrom<GraphOp>(*this, getGraphAttr());
  auto cluster =
      symbols.lookupNearestSymbolFrom<ClusterOp>(*this, getClusterAttr());
  if (!graph) // program_c1
    return emitOpError() << "@" << getGraph() << " is not a graph";
  if (!cluster) // program_c1
    return emitOpError() << "@" << getCluster() << " is not a cluster";
  auto microbatches = static_cast<int64_t>(getMicrobatches());
  if (microbatches < 1 || microbatches > kMostMicrobatches) // program_c1
    return emitOpError() << "number of microbatches must be from 1 to "
                         << kMostMicrobatches << ", got " << microbatches;
  if (failed(verifyStages(*this, graph, cluster)) ||
      failed(verifyGangStages(*this)))
    return failure();

  llvm::StringMap<NodeOp> nodes; // program_c5
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
    nodes[node.getNodeName()] = node;
  int64_t stages = llvm::range_size(getBody().front().getOps<StageOp>());
  for (BoundaryOp boundary : getBody().front().getOps<BoundaryOp>()) {
    NodeOp node = nodes.lookup(boundary.getNode());
    if (!node)
      return boundary.emitOpError() << "'" << boundary.getNode()
                                    << "' is not a node of @" << getGraph();
    if (boundary.getResult() >= node.getNumResults())
      return boundary.emitOpError()
             << "result must be less than " << node.getNumResults() << ", got "
             << boundary.getResult();
    Type type = node.getOutputs()[boundary.getResult()].getType();
    if (type != boundary.getType())
      return boundary.emitOpError()
             << "type must be " << type << ", got " << boundary.getType();
    for (int64_t end : {boundary.getFrom(), boundary.getTo()})
      if (end < 0 || end >= stages)
        return boundary.emitOpError()
               << "stage must be from 0 to " << stages - 1 << ", got " << end;
  }
  return success();
}

LogicalResult StageOp::verify() {
  if (auto rows = getRows()) { // stage_c1
    if (rows->size() != getDevices().size())
      return emitOpError() << "rows must have a number for each device, got "
                           << rows->size() << " for " << getDevices().size();
    for (int64_t count : *rows)
      if (count < 1)
        return emitOpError()
               << "rows of a replica must be at least 1, got " << count;
  }
  if (auto of = getReplicaOf()) // stage_c2
    if (of->size() != 5 || (*of)[0] < 0 || (*of)[1] < 0 ||
        (*of)[1] >= (*of)[2] || (*of)[3] < 1 || (*of)[3] > (*of)[4])
      return emitOpError() << "replica_of must be a stage, the number of the "
                           << "replica, a count above it, its samples and all "
                           << "samples";
  if (std::optional<ArrayRef<int64_t>> levels = getLevels()) // stage_c3
    if (levels->size() != getLayers().size() ||
        llvm::any_of(*levels, [](int64_t level) { return level < 0; }))
      return emitOpError() << "needs one level, 0 or more, for every layer, "
                           << "got " << levels->size() << " for "
                           << getLayers().size();
  if (std::optional<ArrayRef<int64_t>> offload = getOffload()) { // stage_c4
    llvm::SmallDenseSet<int64_t> seen;
    for (int64_t layer : *offload)
      if (!llvm::is_contained(getLayers(), layer) || !seen.insert(layer).second)
        return emitOpError()
               << "may offload only its own layers, each once, got " << layer;
    if (getRecompute())
      return emitOpError() << "runs its forward again and keeps nothing of it "
                           << "to offload; leave out 'recompute' or 'offload'";
  }
  return success();
}

LogicalResult BoundaryOp::verify() {
  if (getFrom() == getTo()) // program_c5
    return emitOpError() << "must join two stages, got " << getFrom()
                         << " twice";
  return success();
}

//===----------------------------------------------------------------------===//
// ScheduleOp
//===----------------------------------------------------------------------===//

LogicalResult ScheduleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<ProgramOp>(*this, getProgramAttr()))
    return emitOpError() << "@" << getProgram() // schedule_c1
                         << " is not a program";
  int64_t expected = 0;
  for (OrderOp order : getBody().front().getOps<OrderOp>())
    if (static_cast<int64_t>(order.getRank()) != expected++) // schedule_c2
      return order.emitOpError()
             << "rank must be " << expected - 1 << ", got " << order.getRank();
  return success();
}
