//===- Emit.cpp - step, channels, memory and loops ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::torank;
using pipeline::PipelineDialect;
using stagewright::rank::BufferKind;
using stagewright::rank::RankDialect;

MemRefType stagewright::torank::memoryOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

static int64_t depthOf(const RingDepth &depth) {
  return depth.all ? RankDialect::kAll : depth.slots;
}

static Place placeOf(IntegerAttr position, IntegerAttr slice, int64_t index) {
  Place place{position ? position.getInt() : index, std::nullopt};
  if (slice)
    place.slice = slice.getInt();
  return place;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value RankEmitter::declare(Twine name, BufferKind kind,
                           std::optional<Place> place, int64_t depth,
                           MemRefType type) {
  std::string unique = name.str();
  for (unsigned copy = 1; !bufferNames.insert(unique).second; ++copy)
    unique = (name + "." + Twine(copy)).str();
  auto number = [&](std::optional<int64_t> value) {
    return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
  };
  auto kindAttr = rank::BufferKindAttr::get(builder.getContext(), kind);
  return rank::BufferOp::create(
      builder, loc, rank::BufferType::get(builder.getContext()),
      builder.getStringAttr(unique), kindAttr,
      number(place ? std::optional(place->position) : std::nullopt),
      number(place ? place->slice : std::nullopt),
      builder.getI64IntegerAttr(depth), TypeAttr::get(type));
}

LogicalResult RankEmitter::declareArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  pipeline::GraphOp graph = plan.graph;
  auto string = [&](StringRef name) {
    auto value = graph.getArgAttrOfType<StringAttr>(index, name);
    return value ? value.getValue() : StringRef();
  };
  auto number = [&](StringRef name) {
    return graph.getArgAttrOfType<IntegerAttr>(index, name);
  };
  StringRef role = string(PipelineDialect::kRole);
  std::optional<BufferKind> kind = rank::symbolizeBufferKind(role);
  bool isArgument = kind && *kind <= BufferKind::Microbatch;
  if (!isArgument)
    return emitError(graph.getLoc())
           << "argument " << index << " has no role that a "
           << "rank can give memory, got \"" << role << "\"";
  std::optional<Place> place;
  if (*kind != BufferKind::Microbatch)
    place = placeOf(number(PipelineDialect::kPosition),
                    number(PipelineDialect::kSlice), index);
  std::string name = string(PipelineDialect::kName).str();
  if (name.empty())
    name = "argument" + std::to_string(index);
  if (place && place->slice)
    name += "." + std::to_string(*place->slice);
  bool all = *kind == BufferKind::Batch || *kind == BufferKind::Microbatch;
  arguments[index] = declare(name, *kind, place, all ? RankDialect::kAll : 1,
                             memoryOf(argument.getType()));
  return success();
}

LogicalResult RankEmitter::declareArguments() {
  pipeline::GraphOp graph = plan.graph;
  auto yield = cast<pipeline::YieldOp>(graph.getBody().front().getTerminator());
  for (BlockArgument argument : graph.getBody().getArguments()) {
    bool used = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return isa<pipeline::NodeOp>(user) &&
             plan.rankOf(plan.keys.lookup(user)) == rank;
    });
    for (const auto &[key, action] : plan.actions)
      for (int64_t result : action.passedThrough)
        for (auto [value, of] :
             llvm::zip(yield.getValues(), yield.getResults()))
          used |= plan.rankOf(key) == rank && of == result && value == argument;
    if (used && failed(declareArgument(argument)))
      return failure();
  }
  return success();
}

/// Whether one slot is enough for result `index`: only the last microbatch
/// counts, and it is the last to run.
bool RankEmitter::keepsLastOnly(int64_t index) const {
  if (plan.combineOf(index) != "last")
    return false;
  if (plan.family)
    return true;
  std::map<std::pair<char, int64_t>, int64_t> latest;
  for (const Action &action : plan.data.ranks[rank])
    latest[{static_cast<char>(action.kind), action.stage}] = action.microbatch;
  return llvm::all_of(latest, [&](const auto &entry) {
    return entry.first.first == 'U' ||
           entry.second + 1 == plan.data.microbatches;
  });
}

void RankEmitter::declareResults() {
  pipeline::GraphOp graph = plan.graph;
  auto nameOf = [&](int64_t index) {
    auto name =
        graph.getResultAttrOfType<StringAttr>(index, PipelineDialect::kName);
    auto role =
        graph.getResultAttrOfType<StringAttr>(index, PipelineDialect::kRole);
    std::string prefix = role ? role.getValue().str() : "result";
    if (!name || name.getValue().empty())
      return prefix + std::to_string(index);
    return name.getValue() == prefix ? prefix
                                     : prefix + "/" + name.getValue().str();
  };
  auto placeOfResult = [&](int64_t index) {
    return placeOf(
        graph.getResultAttrOfType<IntegerAttr>(index,
                                               PipelineDialect::kPosition),
        graph.getResultAttrOfType<IntegerAttr>(index, PipelineDialect::kSlice),
        index);
  };
  for (auto [number, sum] : llvm::enumerate(plan.accumulators)) {
    if (plan.rankOfStage[sum.stage] != rank)
      continue;
    auto role = graph.getResultAttrOfType<StringAttr>(sum.result,
                                                      PipelineDialect::kRole);
    bool gradient = (role && role.getValue() == "gradient") || !sum.owner;
    std::string name = nameOf(sum.result);
    if (!sum.owner)
      name += ".part" + plan.nameOfStage(sum.stage);
    std::optional<Place> place;
    if (sum.owner)
      place = placeOfResult(sum.result);
    if (place && place->slice)
      name += "." + std::to_string(*place->slice);
    accumulators[number] =
        declare(name, gradient ? BufferKind::Gradient : BufferKind::Accumulator,
                place, 1, memoryOf(graph.getResultTypes()[sum.result]));
  }
  for (int64_t index = 0; index < int64_t(plan.rankOfResult.size()); ++index)
    if (!plan.isAccumulated(index) && plan.rankOfResult[index] == rank) {
      Place place = placeOfResult(index);
      place.slice = std::nullopt;
      outputs[index] = declare(nameOf(index), BufferKind::Output, place,
                               keepsLastOnly(index) ? 1 : RankDialect::kAll,
                               memoryOf(graph.getResultTypes()[index]));
    }
}

void RankEmitter::declareStashes() {
  for (const auto &[value, made] : plan.values) {
    if (plan.rankOf(made.made) != rank)
      continue;
    auto node = value.getDefiningOp<pipeline::NodeOp>();
    for (const StashPlan &stash : made.stashes) {
      std::string name = (node.getNodeName() + "." +
                          Twine(cast<OpResult>(value).getResultNumber()))
                             .str();
      if (stash.stage != made.made.stage)
        name += ".stage" + plan.nameOfStage(stash.stage);
      stashes[{value, stash.stage}] =
          declare(name, BufferKind::Stash, std::nullopt, depthOf(stash.depth),
                  memoryOf(value.getType()));
      ++statistics.stashes;
    }
  }
  workspace = declare(
      "workspace", BufferKind::Workspace, std::nullopt, 1,
      MemRefType::get({plan.workspaceOfRank[rank]}, builder.getI8Type()));
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

Value RankEmitter::constant(int64_t value) {
  Value &known = constants[value];
  if (known)
    return known;
  OpBuilder at(builder.getContext());
  if (lastConstant)
    at.setInsertionPointAfter(lastConstant);
  else
    at.setInsertionPointToStart(&entry.getBody().front());
  known = arith::ConstantIndexOp::create(at, loc, value);
  lastConstant = known.getDefiningOp();
  return known;
}

/// clamp(constant + (perMicrobatch ? M : 0), 0, M), with what the sign of the
/// constant makes superfluous left out.
Value RankEmitter::bound(const SegmentBound &bound) {
  Value all = entry.getMicrobatches();
  if (!bound.perMicrobatch)
    return bound.constant <= 0
               ? constant(0)
               : Value(arith::MinSIOp::create(builder, loc,
                                              constant(bound.constant), all));
  if (bound.constant >= 0)
    return all;
  Value less =
      arith::SubIOp::create(builder, loc, all, constant(-bound.constant));
  return arith::MaxSIOp::create(builder, loc, less, constant(0));
}

Value RankEmitter::slotOf(Value buffer, Value m) {
  auto declared = buffer.getDefiningOp<rank::BufferOp>();
  return rank::SlotOp::create(builder, loc, declared.getType(), buffer, m);
}

LogicalResult RankEmitter::emitSegment(const Segment &segment) {
  Value low = bound(segment.low), high = bound(segment.high);
  auto loop =
      scf::ForOp::create(builder, loc, low, high, constant(segment.step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  for (const SegmentAction &action : segment.body) {
    Value m = loop.getInductionVar();
    if (action.offset > 0)
      m = arith::AddIOp::create(builder, loc, m, constant(action.offset));
    if (action.offset < 0)
      m = arith::SubIOp::create(builder, loc, m, constant(-action.offset));
    if (failed(emitAction({action.kind, action.stage}, m)))
      return failure();
  }
  return success();
}

/// One loop over the rows; every case once, in the order of its first row.
LogicalResult RankEmitter::emitTable(const RankOrder &order) {
  llvm::MapVector<std::pair<char, int64_t>, ActionKey> cases;
  SmallVector<int64_t> which, microbatches, numbers;
  for (const auto &[key, m] : order.rows) {
    std::pair<char, int64_t> name(static_cast<char>(key.kind), key.stage);
    if (cases.insert({name, key}).second)
      numbers.push_back(numbers.size());
    which.push_back(cases.find(name) - cases.begin());
    microbatches.push_back(m);
  }
  auto loop = scf::ForOp::create(builder, loc, constant(0),
                                 constant(order.rows.size()), constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  auto row = rank::TableOp::create(builder, loc, builder.getIndexType(),
                                   builder.getIndexType(),
                                   loop.getInductionVar(), which, microbatches);
  auto choice = scf::IndexSwitchOp::create(
      builder, loc, TypeRange(), row.getWhich(), numbers, numbers.size());
  for (auto [key, region] : llvm::zip(cases, choice.getCaseRegions())) {
    builder.setInsertionPointToStart(&region.emplaceBlock());
    if (failed(emitAction(key.second, row.getMicrobatch())))
      return failure();
    scf::YieldOp::create(builder, loc);
  }
  builder.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
  scf::YieldOp::create(builder, loc);
  return success();
}

LogicalResult RankEmitter::emitEntry() {
  entry = rank::EntryOp::create(builder, loc);
  Block &block = entry.getBody().emplaceBlock();
  block.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToStart(&block);
  constant(0);
  constant(1);
  builder.setInsertionPointToEnd(&block);
  pipeline::GraphOp graph = plan.graph;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    Value buffer = arguments.lookup(argument.getArgNumber());
    if (buffer && !buffer.getDefiningOp<rank::BufferOp>().isPerMicrobatch())
      slots[buffer] = slotOf(buffer);
  }
  for (auto [number, buffer] : accumulators) {
    slots[buffer] = slotOf(buffer);
    rank::ZeroOp::create(builder, loc, slots[buffer]);
  }
  for (const Segment &segment : plan.orders[rank].loops)
    if (failed(emitSegment(segment)))
      return failure();
  if (!plan.orders[rank].rows.empty() && failed(emitTable(plan.orders[rank])))
    return failure();
  if (hasEnd())
    emitEnd();
  return success();
}

LogicalResult RankEmitter::emit() {
  pipeline::GraphOp graph = plan.graph;
  pipeline::ProgramOp planned = plan.program;
  pipeline::ScheduleOp schedule = plan.schedule;
  auto program = rank::ProgramOp::create(
      builder, loc, (graph.getSymName() + "." + Twine(rank)).str(), rank,
      plan.deviceOfRank[rank], graph.getSymName(), planned.getMicrobatches(),
      /*only=*/!plan.family, schedule.getKind(), DictionaryAttr());
  names.symbols.insert(program);
  builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
  if (failed(declareArguments()))
    return failure();
  declareResults();
  declareStashes();
  findReleases();
  return emitEntry();
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

/// The interface of `plan.graph` as a `rank.step` before it, with the layers of
/// each stage.
static rank::StepOp emitStep(const Plan &plan, OpBuilder &builder) {
  pipeline::GraphOp graph = plan.graph;
  pipeline::ProgramOp program = plan.program;
  auto step = rank::StepOp::create(
      builder, graph.getLoc(), graph.getSymName(), graph.getFunctionType(),
      /*sym_visibility=*/StringAttr(), graph.getArgAttrsAttr(),
      graph.getResAttrsAttr());
  SmallVector<Attribute> stages;
  for (auto stage : program.getBody().front().getOps<pipeline::StageOp>()) {
    SmallVector<StringRef> layers;
    for (int64_t layer : stage.getLayers())
      layers.push_back(graph.getLayerName(layer));
    stages.push_back(builder.getStrArrayAttr(layers));
  }
  step->setAttr("rank.stages", builder.getArrayAttr(stages));
  if (program.getPlanAttr())
    step->setAttr("rank.plan", program.getPlanAttr());
  return step;
}

/// The channels of values, and of the parts of gradients.
static void emitChannels(const Plan &plan, ModuleNames &names,
                         OpBuilder &builder) {
  Location loc = pipeline::GraphOp(plan.graph).getLoc();
  auto create = [&](std::string name, int64_t from, int64_t to, int64_t depth,
                    bool once, bool sparse, Type type) {
    auto channel =
        rank::ChannelOp::create(builder, loc, name, from, to, depth, once,
                                sparse, TypeAttr::get(memoryOf(type)));
    names.symbols.insert(channel);
    return FlatSymbolRefAttr::get(channel.getSymNameAttr());
  };
  for (const ChannelPlan &channel : plan.channels)
    names.channels.push_back(
        create(channel.name, channel.from, channel.to, depthOf(channel.depth),
               false, plan.numCopies() > 1, channel.value.getType()));
  for (auto [number, part] : llvm::enumerate(plan.accumulators)) {
    int64_t from = plan.rankOfStage[part.stage];
    int64_t to = plan.rankOfResult[part.result];
    if (part.owner || from == to)
      continue;
    Type type = pipeline::GraphOp(plan.graph).getResultTypes()[part.result];
    names.parts[number] = create("gradient." + std::to_string(part.result) +
                                     ".from" + plan.nameOfStage(part.stage),
                                 from, to, 1, true, false, type);
  }
}

FailureOr<EmitStatistics> stagewright::torank::emitPrograms(ModuleOp module,
                                                            const Plan &plan) {
  pipeline::GraphOp graph = plan.graph;
  llvm::SmallSetVector<Operation *, 16> bodies;
  SymbolTable symbols(module);
  for (auto node : graph.getBody().front().getOps<pipeline::NodeOp>())
    if (Operation *body = symbols.lookup(*node.getCallee()))
      bodies.insert(body);

  ModuleNames names{symbols, {}, {}, {}, {}};
  EmitStatistics statistics;
  OpBuilder builder(graph);
  rank::StepOp step = emitStep(plan, builder);
  emitChannels(plan, names, builder);
  statistics.channels = names.channels.size() + names.parts.size();
  for (size_t rank = 0; rank < plan.orders.size(); ++rank)
    if (failed(RankEmitter(plan, rank, names, statistics, builder).emit()))
      return failure();

  // The step takes the name of the graph, so the graph goes first; bodies that
  // only it knew go with it.
  StringAttr name = graph.getSymNameAttr();
  pipeline::ScheduleOp(plan.schedule).erase();
  pipeline::ProgramOp(plan.program).erase();
  graph.erase();
  step.setSymNameAttr(name);
  for (Operation *body : bodies)
    if (!names.called.contains(body) &&
        SymbolTable::getSymbolVisibility(body) ==
            SymbolTable::Visibility::Private)
      body->erase();
  return statistics;
}
