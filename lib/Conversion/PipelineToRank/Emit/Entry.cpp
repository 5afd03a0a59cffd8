//===- Entry.cpp - loops, tables and lanes of a rank ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

namespace stagewright::torank {

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

/// clamp(constant + (perMicrobatch ? M : 0), 0, M), simplified by the sign of
/// the constant.
Value RankEmitter::bound(const SegmentBound &bound) {
  Value all = microbatches;
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

/// One loop over the rows of a table.
LogicalResult RankEmitter::emitTable(const RankOrder &order) {
  Rows rows;
  for (const auto &[key, m] : order.rows)
    rows.push_back({{key}, m});
  auto loop = scf::ForOp::create(builder, loc, constant(0),
                                 constant(rows.size()), constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  return emitRow(loop.getInductionVar(), rows);
}

/// Pairs (lane, lane that must run first for the same microbatch) in one list:
/// the forward of the stage, I before W, and the lanes that make what a lane
/// reads.
SmallVector<int64_t> RankEmitter::lanesAfter(ArrayRef<Lane> lanes) const {
  std::map<std::pair<int64_t, ActionKind>, int64_t> numberOf;
  for (auto [number, lane] : llvm::enumerate(lanes))
    for (const Order &block : lane.blocks)
      for (const Action &action : block)
        for (const ActionKey &part : plan.partsOf({action.kind, action.stage}))
          numberOf[{plan.stageNumber(part.stage), part.kind}] = int64_t(number);
  auto laneOf = [&](const ActionKey &key) {
    auto lane = numberOf.find({plan.stageNumber(key.stage), key.kind});
    return lane == numberOf.end() ? -1 : lane->second;
  };
  std::set<std::pair<int64_t, int64_t>> pairs;
  auto add = [&](int64_t later, int64_t earlier) {
    if (later >= 0 && earlier >= 0 && later != earlier)
      pairs.insert({later, earlier});
  };
  using enum ActionKind;
  for (auto [number, lane] : llvm::enumerate(lanes)) {
    if (lane.kind != Forward)
      add(int64_t(number), laneOf({Forward, lane.stage}));
    if (lane.kind == WeightGradient)
      add(int64_t(number), laneOf({InputGradient, lane.stage}));
  }
  for (const auto &[key, action] : plan.actions)
    for (const NodePlan &node : action.nodes)
      for (Value input : pipeline::NodeOp(node.node).getInputs())
        if (auto made = plan.values.find(input);
            made != plan.values.end() && plan.rankOf(key) == rank &&
            plan.rankOf(made->second.made) == rank)
          add(laneOf(key), laneOf(made->second.made));
  SmallVector<int64_t> flat;
  for (auto [later, earlier] : pairs)
    flat.append({later, earlier});
  return flat;
}

/// Emits one loop; every iteration runs the next block of the lane that
/// `rank.choose` selects.
LogicalResult RankEmitter::emitLanes(ArrayRef<Lane> lanes) {
  Rows rows;
  SmallVector<int64_t> sizes, turns;
  std::vector<std::tuple<int64_t, int64_t, int64_t>> order;
  for (const Lane &lane : lanes) {
    sizes.push_back(lane.blocks.size());
    for (int64_t place : lane.places)
      order.push_back({lane.priority, place, int64_t(order.size())});
    for (const Order &block : lane.blocks) {
      auto &[keys, microbatch] = rows.emplace_back();
      microbatch = block.back().microbatch;
      for (const Action &action : block)
        keys.push_back({action.kind, action.stage});
    }
  }
  // A loop with one iteration would be folded away, and there is nothing to
  // choose.
  if (rows.size() == 1)
    return emitRow(constant(0), rows);
  llvm::sort(order);
  turns.resize(rows.size());
  for (auto [turn, entry] : llvm::enumerate(order))
    turns[std::get<2>(entry)] = int64_t(turn);
  auto loop = scf::ForOp::create(builder, loc, constant(0),
                                 constant(rows.size()), constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  auto choice = rank::ChooseOp::create(builder, loc, builder.getIndexType(),
                                       sizes, turns, lanesAfter(lanes));
  return emitRow(choice.getRow(), rows);
}

/// Emits code that reads a row of a table and runs its case; there is a case
/// for each list of actions, in order of first use.
LogicalResult RankEmitter::emitRow(Value number, const Rows &rows) {
  OpBuilder::InsertionGuard guard(builder);
  llvm::MapVector<SmallVector<std::pair<char, int64_t>, 2>,
                  SmallVector<ActionKey, 2>,
                  std::map<SmallVector<std::pair<char, int64_t>, 2>, unsigned>>
      cases;
  SmallVector<int64_t> which, microbatches, numbers;
  for (const auto &[keys, m] : rows) {
    SmallVector<std::pair<char, int64_t>, 2> name;
    for (const ActionKey &key : keys)
      name.push_back({letter(key.kind), key.stage});
    if (cases.insert({name, keys}).second)
      numbers.push_back(numbers.size());
    which.push_back(cases.find(name) - cases.begin());
    microbatches.push_back(m);
  }
  auto row = rank::TableOp::create(builder, loc, builder.getIndexType(),
                                   builder.getIndexType(), number, which,
                                   microbatches);
  auto choice = scf::IndexSwitchOp::create(
      builder, loc, TypeRange(), row.getWhich(), numbers, numbers.size());
  for (auto [entry, region] : llvm::zip(cases, choice.getCaseRegions())) {
    builder.setInsertionPointToStart(&region.emplaceBlock());
    for (const ActionKey &key : entry.second)
      if (failed(emitAction(key, row.getMicrobatch())))
        return failure();
    scf::YieldOp::create(builder, loc);
  }
  builder.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
  scf::YieldOp::create(builder, loc);
  return success();
}

/// The number of microbatches of the rank's pipeline: M, or for pipeline k of p
/// (M - k + p - 1) / p.
Value RankEmitter::countMicrobatches() {
  Value all = entry.getMicrobatches();
  if (plan.pipelines == 1)
    return all;
  int64_t more = plan.pipelines - 1 - plan.pipelineOfRank[rank];
  if (more > 0)
    all = arith::AddIOp::create(builder, loc, all, constant(more));
  return arith::DivUIOp::create(builder, loc, all, constant(plan.pipelines));
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
  for (auto [number, buffer] : updateBuffers)
    slots[buffer] = slotOf(buffer);
  for (auto [number, buffer] : accumulators) {
    slots[buffer] = slotOf(buffer);
    rank::ZeroOp::create(builder, loc, slots[buffer]);
  }
  bool begins = llvm::any_of(names.sums, [&](const auto &sum) {
    auto [number, by] = sum.first;
    return by == rank && !plan.buckets[number].starts.at(rank).atEnd;
  });
  microbatches = countMicrobatches();
  if (plan.family && begins)
    lastMicrobatch =
        arith::SubIOp::create(builder, loc, microbatches, constant(1));
  for (const Segment &segment : plan.orders[rank].loops)
    if (failed(emitSegment(segment)))
      return failure();
  if (!plan.orders[rank].rows.empty() && failed(emitTable(plan.orders[rank])))
    return failure();
  if (!plan.orders[rank].lanes.empty() &&
      failed(emitLanes(plan.orders[rank].lanes)))
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
      plan.deviceOfRank[rank], /*host=*/nullptr, graph.getSymName(),
      planned.getMicrobatches(),
      /*only=*/!plan.family, schedule.getKind(), DictionaryAttr());
  if (!plan.hostOfRank.empty())
    program.setHost(plan.hostOfRank[rank]);
  names.symbols.insert(program);
  builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
  if (failed(declareArguments()))
    return failure();
  if (failed(declareUpdate()))
    return failure();
  declareResults();
  declareAverages();
  declareStashes();
  findReleases();
  return emitEntry();
}

} // namespace stagewright::torank
