//===- Module.cpp - emit step, channels and programs ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"
#include "stagewright/Analysis/FlowData.h"
#include "stagewright/Dialect/Rank/IR/FlowRates.h"

namespace stagewright::torank {

/// Creates, before `plan.graph`, a `rank.step` with the signature of the graph
/// and what @update and averages add to it.
static rank::StepOp emitStep(const Plan &plan, OpBuilder &builder) {
  pipeline::GraphOp graph = plan.graph;
  auto step = rank::StepOp::create(
      builder, graph.getLoc(), graph.getSymName(), graph.getFunctionType(),
      /*sym_visibility=*/StringAttr(), graph.getArgAttrsAttr(),
      graph.getResAttrsAttr());
  emitUpdateInterface(plan, step);
  emitAverageInterface(plan, step);
  return step;
}

/// Creates the channels of values, of parts of sums and of the update, and the
/// gathers.
static void emitChannels(const Plan &plan, ModuleNames &names,
                         OpBuilder &builder) {
  Location loc = pipeline::GraphOp(plan.graph).getLoc();
  auto create = [&](std::string name, int64_t from, int64_t to, int64_t depth,
                    bool once, bool sparse, Type type) {
    auto channel = rank::ChannelOp::create(builder, loc, name, from, to, depth,
                                           once, sparse, IntegerAttr(),
                                           TypeAttr::get(memoryOf(type)));
    names.symbols.insert(channel);
    return FlatSymbolRefAttr::get(channel.getSymNameAttr());
  };
  for (const ChannelPlan &channel : plan.channels)
    names.channels.push_back(
        channel.gathered
            ? FlatSymbolRefAttr()
            : create(channel.name, channel.from, channel.to,
                     depthOf(channel.depth, plan.pipelines), false,
                     plan.numCopies() > 1, channel.value.getType()));
  for (const GatherPlan &gather : plan.gathers) {
    auto made = rank::GatherOp::create(
        builder, loc, gather.name, gather.exchanges, gather.ranks, gather.depth,
        TypeAttr::get(memoryOf(gather.type)));
    names.symbols.insert(made);
    names.gathers.push_back(made);
  }
  for (auto [number, part] : llvm::enumerate(plan.accumulators)) {
    int64_t from = plan.rankOfStage[part.stage];
    int64_t to = plan.rankOfResult[part.result];
    if (part.owner || from == to || plan.bucketOfResult[part.result] >= 0 ||
        plan.keepsParts(part.result))
      continue;
    Type type = pipeline::GraphOp(plan.graph).getResultTypes()[part.result];
    names.parts[number] = create("gradient." + std::to_string(part.result) +
                                     ".from" + plan.nameOfStage(part.stage),
                                 from, to, 1, true, false, type);
  }
  emitUpdateChannels(
      plan, names, [&](std::string name, int64_t from, int64_t to, Type type) {
        return create(name, from, to, 1, true, false, type);
      });
}

/// Distributes the rates of flows between two hosts over the pairs of ranks
/// that send microbatches from one to the other, by the number of connections
/// of each pair. A connection is two stages, one of each rank, of which the
/// first sends to the second. Flows from one host to the same other host have
/// equal rates. The stages that flows name cannot be used, since splitting
/// replicas into stages has changed their numbers.
static void emitFlows(const Plan &plan, ModuleOp module) {
  auto flows = pipeline::ProgramOp(plan.program)
                   ->getAttrOfType<ArrayAttr>(pipeline::kFlows);
  if (!flows)
    return;
  using Pair = std::pair<int64_t, int64_t>;
  std::map<Pair, double> rates; // By hosts.
  for (Attribute attribute : flows) {
    auto flow = dyn_cast<DictionaryAttr>(attribute);
    auto rate = flow ? flow.getAs<FloatAttr>("rate") : FloatAttr();
    if (!rate) // The flows were only analysed.
      return;
    auto host = [&](StringRef name) {
      auto node = flow.getAs<IntegerAttr>(name);
      return node ? node.getValue().getSExtValue() : -1;
    };
    rates[{host("from_host"), host("to_host")}] += rate.getValueAsDouble();
  }
  std::map<Pair, std::map<Pair, std::set<Pair>>> stages; // By hosts, ranks.
  for (const ChannelPlan &channel : plan.channels)
    stages[{plan.nodeOfRank[channel.from],
            plan.nodeOfRank[channel.to]}][{channel.from, channel.to}]
        .insert({plan.stageNumber(plan.values.lookup(channel.value).made.stage),
                 plan.stageNumber(channel.stage)});
  rank::FlowRates found;
  for (auto &[nodes, rate] : rates) {
    size_t connections = 0;
    for (auto &[ranks, between] : stages[nodes])
      connections += between.size();
    for (auto &[ranks, between] : stages[nodes])
      found[ranks] = rate * double(between.size()) / double(connections);
  }
  module->setAttr(rank::kFlows,
                  rank::writeFlowRates(module.getContext(), found));
}

FailureOr<EmitStatistics> emitPrograms(ModuleOp module, const Plan &plan) {
  pipeline::GraphOp graph = plan.graph;
  llvm::SmallSetVector<Operation *, 16> bodies;
  SymbolTable symbols(module);
  for (auto node : graph.getBody().front().getOps<pipeline::NodeOp>())
    if (Operation *body = symbols.lookup(*node.getCallee()))
      bodies.insert(body);

  ModuleNames names{symbols, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  EmitStatistics statistics;
  OpBuilder builder(graph);
  rank::StepOp step = emitStep(plan, builder);
  emitChannels(plan, names, builder);
  emitFlows(plan, module);
  emitCollectives(plan, names, builder);
  statistics.gathers = names.gathers.size();
  statistics.channels =
      llvm::count_if(names.channels, [](auto name) { return bool(name); }) +
      names.parts.size() + names.packs.size() + names.parameters.size();
  for (size_t rank = 0; rank < plan.orders.size(); ++rank)
    if (failed(RankEmitter(plan, rank, names, statistics, builder).emit()))
      return failure();

  // The step takes the name of the graph, so the graph is erased first. Bodies
  // that only the graph called are erased, too.
  StringAttr name = graph.getSymNameAttr();
  pipeline::ScheduleOp(plan.schedule).erase();
  pipeline::ProgramOp(plan.program).erase();
  graph.erase();
  if (plan.update)
    func::FuncOp(plan.update->function).erase();
  step.setSymNameAttr(name);
  for (Operation *body : bodies)
    if (!names.called.contains(body) &&
        SymbolTable::getSymbolVisibility(body) ==
            SymbolTable::Visibility::Private)
      body->erase();
  return statistics;
}

} // namespace stagewright::torank
