//===- Action.cpp - emits one action of a rank ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A receive is placed before the first node that reads, a claim before the node
// or the copy that writes, a send after it, and a release after the last node
// that reads, so that a transfer overlaps with all work that does not need it.
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

namespace stagewright::torank {

void RankEmitter::findReleases() {
  for (const auto &[value, made] : plan.values)
    if (plan.rankOf(made.made) == rank)
      for (const StashPlan &stash : made.stashes) {
        Value buffer = stashes.lookup({value, stash.stage});
        auto beside = offloaded.find({value, stash.stage});
        if (beside != offloaded.end()) {
          auto [onHost, back] = beside->second;
          releases[made.made][made.lastHere].offloads.push_back(
              {buffer, onHost});
          fetches[stash.first].push_back({onHost, back});
          buffer = back;
        }
        if (!stash.follows)
          releases[stash.last][stash.lastAt].stashes.push_back(buffer);
      }
  for (auto [number, channel] : llvm::enumerate(plan.channels))
    if (channel.to == rank && !channel.gathered)
      releases[channel.last][channel.lastAt].channels.push_back(number);
}

/// A part of a gather, which action `key` reads.
Value RankEmitter::readPart(const ValuePlan &made, const ActionKey &key) {
  auto &[buffer, first] = gathers.at(made.gather);
  Value &slot = gathered[made.gather];
  rank::GatherOp gather = names.gathers[made.gather];
  if (!slot && key == first)
    rank::AwaitGatheredOp::create(builder, loc, gather.getSymName(),
                                  numbers.turn);
  if (!slot)
    slot = slotOf(buffer, numbers.turn);
  return rank::PartOp::create(builder, loc, gather.getType(), slot,
                              made.readPart);
}

/// Memory of `value`, which action `key` reads.
Value RankEmitter::read(Value value, const ActionKey &key) {
  Value &memory = present[value];
  if (memory)
    return memory;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value buffer = arguments.lookup(argument.getArgNumber());
    Value whole = slots.lookup(buffer);
    return memory = whole ? whole : slotOf(buffer, numbers.ofStep);
  }
  const ValuePlan &made = plan.values.find(value)->second;
  auto isKept = [&](const StashPlan &stash) {
    return stash.stage == key.stage && !stash.gathers;
  };
  if (made.gather >= 0 && llvm::none_of(made.stashes, isKept))
    return memory = readPart(made, key);
  if (auto beside = offloaded.find({value, key.stage});
      beside != offloaded.end())
    return memory =
               rank::FetchedOp::create(builder, loc, memoryOf(value.getType()),
                                       beside->second.back, numbers.turn);
  if (plan.rankOf(made.made) == rank)
    return memory =
               made.home == Home::Output
                   ? slotOf(outputs.at(made.outputs.front()), numbers.ofStep)
                   : slotOf(stashes.lookup({value, key.stage}), numbers.turn);
  for (unsigned number : made.channels) {
    const ChannelPlan &channel = plan.channels[number];
    if (channel.stage != key.stage)
      continue;
    MemRefType type = memoryOf(value.getType());
    if (channel.first == key)
      memory = rank::RecvOp::create(builder, loc, type, names.channels[number],
                                    numbers.turn);
    else
      memory = rank::ReceivedOp::create(builder, loc, type,
                                        names.channels[number], numbers.turn);
  }
  return memory;
}

/// The slot of `stash` for `value`, or its part of the slot.
Value RankEmitter::acquire(Value value, const StashPlan &stash) {
  Value buffer = stashes.lookup({value, stash.stage});
  MemRefType type = memoryOf(value.getType());
  auto create = [&]() -> Value {
    return rank::AcquireOp::create(
        builder, loc, buffer.getDefiningOp<rank::BufferOp>().getType(), buffer,
        numbers.turn);
  };
  if (!stash.gathers)
    return create();
  const ValuePlan &made = plan.values.find(value)->second;
  Value &slot = gathered[made.gather]; // Parts to exchange share one.
  if (!slot)
    slot = create();
  return rank::PartOp::create(builder, loc, type, slot, made.writtenPart);
}

/// Memory of `value`, which the current node writes: its home.
Value RankEmitter::write(Value value) {
  const ValuePlan &made = plan.values.find(value)->second;
  MemRefType type = memoryOf(value.getType());
  switch (made.home) {
  case Home::Output:
    return present[value] =
               slotOf(outputs.at(made.outputs.front()), numbers.ofStep);
  case Home::Stash:
    return present[value] = acquire(value, made.stashes.front());
  case Home::Channel:
    return present[value] = rank::ClaimOp::create(
               builder, loc, type, names.channels[made.channels.front()],
               numbers.turn);
  case Home::Workspace:
    break;
  }
  return present[value] =
             rank::ViewOp::create(builder, loc, type, workspace, made.offset);
}

/// Copies `value` from its home to its other places, then sends it. Copies come
/// first, because a sent slot must not be read.
void RankEmitter::distribute(Value value) {
  const ValuePlan &made = plan.values.find(value)->second;
  MemRefType type = memoryOf(value.getType());
  for (unsigned number : made.channels) {
    if (plan.channels[number].gathered ||
        (made.home == Home::Channel && number == made.channels.front()))
      continue;
    Value slot = rank::ClaimOp::create(builder, loc, type,
                                       names.channels[number], numbers.turn);
    rank::CopyOp::create(builder, loc, present[value], slot);
    ++statistics.copies;
  }
  ArrayRef<StashPlan> stashed = made.stashes;
  for (const StashPlan &stash :
       made.home == Home::Stash ? stashed.drop_front() : stashed) {
    rank::CopyOp::create(builder, loc, present[value], acquire(value, stash));
    ++statistics.copies;
  }
  ArrayRef<int64_t> kept = made.outputs;
  for (int64_t result : made.home == Home::Output ? kept.drop_front() : kept) {
    Value slot = slotOf(outputs.at(result), numbers.ofStep);
    rank::CopyOp::create(builder, loc, present[value], slot);
    ++statistics.copies;
  }
  for (unsigned number : made.channels)
    if (!plan.channels[number].gathered)
      rank::SendOp::create(builder, loc, names.channels[number], numbers.turn);
  if (made.gather >= 0 && made.beginsGather)
    rank::AllGatherOp::create(builder, loc,
                              names.gathers[made.gather].getSymName(),
                              gathers.at(made.gather).first, numbers.turn);
}

Value RankEmitter::sumOf(int64_t result, const ActionKey &key) {
  int64_t stage = plan.summingStage(key.stage);
  auto found = llvm::partition_point(plan.accumulators, [&](const auto &part) {
    return std::tie(part.result, part.stage) < std::tie(result, stage);
  });
  if (found == plan.accumulators.end() || found->result != result ||
      found->stage != stage)
    return {};
  auto buffer = accumulators.find(found - plan.accumulators.begin());
  return buffer == accumulators.end() ? Value() : slots[buffer->second];
}

LogicalResult RankEmitter::emitNode(const ActionKey &key,
                                    const NodePlan &node) {
  pipeline::NodeOp op = node.node;
  FailureOr<func::FuncOp> body =
      getVariant(node, names.symbols, names.variants);
  if (failed(body))
    return failure();
  names.called.insert(*body);
  SmallVector<Value> inputs, outs, sums;
  for (Value input : op.getInputs())
    inputs.push_back(read(input, key));
  for (unsigned number : node.written)
    outs.push_back(write(op->getResult(number)));
  for (const auto &[result, ignored] : node.sums())
    if (Value sum = sumOf(result, key))
      sums.push_back(sum);
  statistics.accumulated += sums.size();
  rank::CallOp::create(builder, op.getLoc(), body->getSymName(), inputs, outs,
                       sums, workspace, node.workspaceTop,
                       /*workspace_bytes=*/0, op.getNodeName());
  for (unsigned number : node.written)
    distribute(op->getResult(number));
  return success();
}

/// Writes a result of the step that is an argument of the graph.
void RankEmitter::passThrough(BlockArgument argument, int64_t result,
                              const ActionKey &key) {
  Value source = read(argument, key);
  if (Value sum = sumOf(result, key))
    rank::AddOp::create(builder, loc, source, sum);
  if (plan.isAccumulated(result))
    return;
  rank::CopyOp::create(builder, loc, source,
                       slotOf(outputs.at(result), numbers.ofStep));
  ++statistics.copies;
}

void RankEmitter::emitReleases(const ActionKey &key, unsigned position) {
  auto action = releases.find(key);
  if (action == releases.end())
    return;
  auto found = action->second.find(position);
  if (found == action->second.end())
    return;
  for (unsigned number : found->second.channels)
    rank::ReleaseChannelOp::create(builder, loc, names.channels[number],
                                   numbers.turn);
  for (Value buffer : found->second.stashes)
    rank::ReleaseOp::create(builder, loc, buffer, numbers.turn);
  for (auto [buffer, onHost] : found->second.offloads)
    rank::OffloadOp::create(builder, loc, buffer, onHost, numbers.turn);
}

/// The number of turns of the copy of a stage.
Value RankEmitter::countTurns(const ActionKey &key) {
  if (plan.pipelines > 1 || plan.numCopies() == 1)
    return microbatches;
  return constant(plan.microbatchesOf[key.stage / plan.numStages].size());
}

/// Begins to copy back offloaded values. If the action fetches ahead, fetches
/// those that its next turn reads and, in the first turn, also those of that
/// turn: turns [t + min(t, 1), min(t + 2, n)) in turn t of n. Else fetches
/// those of this turn.
void RankEmitter::emitFetches(const ActionKey &key) {
  auto found = fetches.find(key);
  if (found == fetches.end())
    return;
  OpBuilder::InsertionGuard guard(builder);
  Value turn = numbers.turn;
  if (plan.fetchesAhead[key.stage]) {
    Value isLater = arith::MinSIOp::create(builder, loc, turn, constant(1));
    Value low = arith::AddIOp::create(builder, loc, turn, isLater);
    Value after = arith::AddIOp::create(builder, loc, turn, constant(2));
    Value high = arith::MinSIOp::create(builder, loc, after, countTurns(key));
    auto loop = scf::ForOp::create(builder, loc, low, high, constant(1));
    builder.setInsertionPointToStart(loop.getBody());
    turn = loop.getInductionVar();
  }
  for (const HostBuffers &buffers : found->second)
    rank::FetchOp::create(builder, loc, buffers.onHost, buffers.back, turn);
}

/// The numbers of a microbatch in action `key`, on the route of its copy.
Numbers RankEmitter::numbersOf(const ActionKey &key, Value inOrder) {
  Numbers all{inOrder, inOrder, inOrder};
  if (plan.pipelines > 1) {
    all.ofStep =
        arith::MulIOp::create(builder, loc, inOrder, constant(plan.pipelines));
    if (int64_t first = plan.pipelineOfRank[rank])
      all.ofStep =
          arith::AddIOp::create(builder, loc, all.ofStep, constant(first));
  } else if (int64_t stride = plan.strideOf(key.stage / plan.numStages);
             stride > 1) {
    all.turn = arith::DivUIOp::create(builder, loc, inOrder, constant(stride));
  }
  return all;
}

LogicalResult RankEmitter::emitAction(const ActionKey &key, Value inOrder) {
  numbers = numbersOf(key, inOrder);
  auto op = rank::ActionOp::create(builder, loc, key.kind,
                                   plan.stageNumber(key.stage), numbers.ofStep);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  for (const ActionKey &part : plan.partsOf(key))
    if (failed(emitPart(part)))
      return failure();
  return success();
}

LogicalResult RankEmitter::emitPart(const ActionKey &key) {
  present.clear();
  gathered.clear();
  auto found = plan.actions.find(key);
  if (found == plan.actions.end()) // No node belongs to it.
    return success();
  const ActionPlan &action = found->second;
  emitFetches(key);
  for (auto [position, node] : llvm::enumerate(action.nodes)) {
    if (failed(emitNode(key, node)))
      return failure();
    emitReleases(key, position);
    beginSums(key, position);
  }
  for (auto [argument, result] : action.passedThrough)
    passThrough(argument, result, key);
  beginSums(key, action.nodes.size());
  return success();
}

} // namespace stagewright::torank
