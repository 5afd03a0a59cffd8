//===- Action.cpp - one action --------------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Receives stand before the first node that reads, claims before the node that
// writes, sends behind it, releases behind the last node that reads: a transfer
// overlaps with everything that does not need it.
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::torank;

void RankEmitter::findReleases() {
  for (const auto &[value, made] : plan.values)
    if (plan.rankOf(made.made) == rank)
      for (const StashPlan &stash : made.stashes)
        releases[stash.last][stash.lastAt].stashes.push_back(
            stashes.lookup({value, stash.stage}));
  for (auto [number, channel] : llvm::enumerate(plan.channels))
    if (channel.to == rank)
      releases[channel.last][channel.lastAt].channels.push_back(number);
}

/// Memory of `value`, which an action `key` reads.
Value RankEmitter::read(Value value, const ActionKey &key, Value m) {
  Value &memory = present[value];
  if (memory)
    return memory;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value buffer = arguments.lookup(argument.getArgNumber());
    Value whole = slots.lookup(buffer);
    return memory = whole ? whole : slotOf(buffer, m);
  }
  const ValuePlan &made = plan.values.find(value)->second;
  if (plan.rankOf(made.made) == rank)
    return memory = slotOf(made.home == Home::Output
                               ? outputs.at(made.outputs.front())
                               : stashes.lookup({value, key.stage}),
                           m);
  for (unsigned number : made.channels) {
    const ChannelPlan &channel = plan.channels[number];
    if (channel.stage != key.stage)
      continue;
    MemRefType type = memoryOf(value.getType());
    if (channel.first == key)
      memory =
          rank::RecvOp::create(builder, loc, type, names.channels[number], m);
    else
      memory = rank::ReceivedOp::create(builder, loc, type,
                                        names.channels[number], m);
  }
  return memory;
}

/// The stash that is the home of `value`.
Value RankEmitter::stashOf(Value value, const ValuePlan &made) const {
  return stashes.lookup({value, made.stashes.front().stage});
}

/// Memory of `value`, which the node at hand writes: its home.
Value RankEmitter::write(Value value, Value m) {
  const ValuePlan &made = plan.values.find(value)->second;
  MemRefType type = memoryOf(value.getType());
  switch (made.home) {
  case Home::Output:
    return present[value] = slotOf(outputs.at(made.outputs.front()), m);
  case Home::Stash:
    return present[value] = rank::AcquireOp::create(builder, loc, type,
                                                    stashOf(value, made), m);
  case Home::Channel:
    return present[value] = rank::ClaimOp::create(
               builder, loc, type, names.channels[made.channels.front()], m);
  case Home::Workspace:
    break;
  }
  return present[value] =
             rank::ViewOp::create(builder, loc, type, workspace, made.offset);
}

/// Copies `value` to every place but its home, then sends it: a slot that is
/// sent is not read again.
void RankEmitter::distribute(Value value, Value m) {
  const ValuePlan &made = plan.values.find(value)->second;
  MemRefType type = memoryOf(value.getType());
  for (unsigned number : made.channels) {
    if (made.home == Home::Channel && number == made.channels.front())
      continue;
    Value slot =
        rank::ClaimOp::create(builder, loc, type, names.channels[number], m);
    rank::CopyOp::create(builder, loc, present[value], slot);
    ++statistics.copies;
  }
  ArrayRef<StashPlan> stashed = made.stashes;
  for (const StashPlan &stash :
       made.home == Home::Stash ? stashed.drop_front() : stashed) {
    Value slot = rank::AcquireOp::create(
        builder, loc, type, stashes.lookup({value, stash.stage}), m);
    rank::CopyOp::create(builder, loc, present[value], slot);
    ++statistics.copies;
  }
  ArrayRef<int64_t> kept = made.outputs;
  for (int64_t result : made.home == Home::Output ? kept.drop_front() : kept) {
    Value slot = slotOf(outputs.at(result), m);
    rank::CopyOp::create(builder, loc, present[value], slot);
    ++statistics.copies;
  }
  for (unsigned number : made.channels)
    rank::SendOp::create(builder, loc, names.channels[number], m);
}

LogicalResult RankEmitter::emitNode(const ActionKey &key, const NodePlan &node,
                                    Value m) {
  pipeline::NodeOp op = node.node;
  FailureOr<func::FuncOp> body =
      getVariant(node, names.symbols, names.variants);
  if (failed(body))
    return failure();
  names.called.insert(*body);
  SmallVector<Value> inputs, outs, sums;
  for (Value input : op.getInputs())
    inputs.push_back(read(input, key, m));
  for (unsigned number : node.written)
    outs.push_back(write(op->getResult(number), m));
  for (auto [ignored, result] : node.accumulated)
    for (auto [number, buffer] : accumulators)
      if (plan.accumulators[number].result == result &&
          plan.accumulators[number].stage == plan.summingStage(key.stage))
        sums.push_back(slots[buffer]);
  statistics.accumulated += sums.size();
  rank::CallOp::create(builder, op.getLoc(), body->getSymName(), inputs, outs,
                       sums, workspace, node.workspaceTop,
                       /*workspace_bytes=*/0, op.getNodeName());
  for (unsigned number : node.written)
    distribute(op->getResult(number), m);
  return success();
}

/// A result of the step that is an argument of the graph.
void RankEmitter::passThrough(int64_t result, const ActionKey &key, Value m) {
  pipeline::GraphOp graph = plan.graph;
  auto yield = cast<pipeline::YieldOp>(graph.getBody().front().getTerminator());
  for (auto [value, of] : llvm::zip(yield.getValues(), yield.getResults())) {
    if (of != result || !isa<BlockArgument>(value))
      continue;
    Value source = read(value, key, m);
    for (auto [number, buffer] : accumulators)
      if (plan.accumulators[number].result == result &&
          plan.accumulators[number].stage == plan.summingStage(key.stage))
        rank::AddOp::create(builder, loc, source, slots[buffer]);
    if (!plan.isAccumulated(result)) {
      rank::CopyOp::create(builder, loc, source, slotOf(outputs.at(result), m));
      ++statistics.copies;
    }
  }
}

void RankEmitter::emitReleases(const ActionKey &key, unsigned position,
                               Value m) {
  auto action = releases.find(key);
  if (action == releases.end())
    return;
  auto found = action->second.find(position);
  if (found == action->second.end())
    return;
  for (unsigned number : found->second.channels)
    rank::ReleaseChannelOp::create(builder, loc, names.channels[number], m);
  for (Value buffer : found->second.stashes)
    rank::ReleaseOp::create(builder, loc, buffer, m);
}

LogicalResult RankEmitter::emitAction(const ActionKey &key, Value m) {
  auto kind = rank::symbolizeActionKind(
      StringRef(std::string(1, static_cast<char>(key.kind))));
  auto op = rank::ActionOp::create(builder, loc, *kind,
                                   plan.stageNumber(key.stage), m);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  for (const ActionKey &part : plan.partsOf(key))
    if (failed(emitPart(part, m)))
      return failure();
  return success();
}

LogicalResult RankEmitter::emitPart(const ActionKey &key, Value m) {
  present.clear();
  auto found = plan.actions.find(key);
  if (found == plan.actions.end()) // No node has work there.
    return success();
  const ActionPlan &action = found->second;
  for (auto [position, node] : llvm::enumerate(action.nodes)) {
    if (failed(emitNode(key, node, m)))
      return failure();
    emitReleases(key, position, m);
    beginSums(key, position, m);
  }
  for (int64_t result : action.passedThrough)
    passThrough(result, key, m);
  beginSums(key, action.nodes.size(), m);
  return success();
}
