//===- End.cpp - the end of a step ----------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankEmitter.h"

namespace stagewright::torank {

bool RankEmitter::hasEnd() const {
  return !accumulators.empty() || plan.update;
}

/// Sends every part to its owner, before any is received. A channel with one
/// message has a free slot, so claiming it never waits.
void RankEmitter::sendParts(Value zero) {
  for (auto [number, channel] : names.parts) {
    if (!accumulators.count(number))
      continue;
    Value part = slots[accumulators[number]];
    Value slot =
        rank::ClaimOp::create(builder, loc, part.getType(), channel, zero);
    rank::CopyOp::create(builder, loc, part, slot);
    rank::SendOp::create(builder, loc, channel, zero);
  }
}

/// The slot of the sum of `result` that this rank owns, alone or with others.
Value RankEmitter::ownedSlot(int64_t result) {
  return slots[accumulators.at(plan.accumulatorOf(result, rank))];
}

/// Adds the parts in the order of their stages, not of their arrival, so that
/// the sum is reproducible.
void RankEmitter::addParts(Value zero) {
  for (auto [number, part] : llvm::enumerate(plan.accumulators)) {
    if (part.owner || plan.rankOfResult[part.result] != rank ||
        plan.bucketOfResult[part.result] >= 0 || plan.keepsParts(part.result))
      continue;
    Value sum = ownedSlot(part.result);
    auto channel = names.parts.find(number);
    if (channel == names.parts.end()) {
      rank::AddOp::create(builder, loc, slots[accumulators[number]], sum);
      continue;
    }
    Value slot = rank::RecvOp::create(builder, loc, sum.getType(),
                                      channel->second, zero);
    rank::AddOp::create(builder, loc, slot, sum);
    rank::ReleaseChannelOp::create(builder, loc, channel->second, zero);
  }
}

void RankEmitter::emitEnd() {
  auto found = llvm::find(plan.rankOfStage, rank);
  // A rank without work only gets new parameters.
  int64_t stage =
      found == plan.rankOfStage.end() ? 0 : found - plan.rankOfStage.begin();
  Value zero = constant(0);
  auto op = rank::ActionOp::create(builder, loc, ActionKind::Update,
                                   plan.stageNumber(stage), zero);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  beginLateSums();
  sendParts(zero);
  addParts(zero);
  awaitSums();
  for (unsigned number : llvm::make_first_range(accumulators)) {
    const AccumulatorPlan &sum = plan.accumulators[number];
    if (!sum.owner && !isSummed(number) && !plan.keepsParts(sum.result))
      continue;
    combine(number);
  }
  if (plan.update)
    emitUpdate(zero);
  emitAverages();
}

} // namespace stagewright::torank
