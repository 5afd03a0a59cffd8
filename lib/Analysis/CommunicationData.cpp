//===- CommunicationData.cpp - messages of a schedule ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/CommunicationData.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/PlanData.h"
#include <map>
#include <set>

using namespace mlir;

namespace stagewright::pipeline {

void writeCommunication(ScheduleOp schedule, const CommPlan &plan) {
  Builder builder(schedule.getContext());
  auto orders = schedule.getBody().front().getOps<OrderOp>();
  for (auto [op, order] : llvm::zip(orders, plan.schedule.ranks))
    op->setAttr(kCommunication, builder.getStringAttr(toString(order)));
  auto entry = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  SmallVector<Attribute> channels;
  for (const Channel &channel : plan.channels)
    channels.push_back(builder.getDictionaryAttr(
        {entry("from", channel.from), entry("to", channel.to),
         entry("round", channel.round)}));
  schedule->setAttr(kChannels, builder.getArrayAttr(channels));
}

static FailureOr<Channel> readChannel(ScheduleOp schedule,
                                      Attribute attribute) {
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  auto number = [&](StringRef name) {
    auto value = entries ? entries.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : -1;
  };
  Channel channel = {number("from"), number("to"), number("round")};
  if (channel.from < 0 || channel.to < 0 || channel.round < 0)
    return emitError(schedule.getLoc())
           << "'" << kChannels << "' holds dictionaries of from, to and round, "
           << "got " << attribute;
  return channel;
}

bool hasCommunication(ScheduleOp schedule) {
  return schedule->hasAttr(kChannels) ||
         llvm::any_of(schedule.getBody().front().getOps<OrderOp>(),
                      [](OrderOp op) { return op->hasAttr(kCommunication); });
}

void removeCommunication(ScheduleOp schedule) {
  schedule->removeAttr(kChannels);
  for (OrderOp op : schedule.getBody().front().getOps<OrderOp>())
    op->removeAttr(kCommunication);
}

/// The pairs of ranks (from, to) between which messages are sent.
static std::set<std::pair<int64_t, int64_t>>
pairsOf(const CommSchedule &schedule) {
  auto messageOf = [](const Action &made, int64_t from, int64_t to) {
    return std::tuple(made.kind, made.microbatch, from, to);
  };
  std::map<std::tuple<ActionKind, int64_t, int64_t, int64_t>, int64_t> senders;
  for (auto [rank, order] : llvm::enumerate(schedule.ranks))
    for (const CommAction &entry : order)
      if (entry.kind == CommKind::Send)
        senders[messageOf(entry.action, entry.action.stage, entry.peer)] = rank;
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (auto [rank, order] : llvm::enumerate(schedule.ranks))
    for (const CommAction &entry : order)
      if (entry.kind == CommKind::Receive)
        pairs.insert(
            {senders[messageOf(entry.action, entry.peer, entry.action.stage)],
             rank});
  return pairs;
}

/// Checks that every pair of ranks with messages has one channel, and that no
/// rank has two channels in one round. `schedule` must have passed verify().
static LogicalResult verifyChannels(ScheduleOp op, const CommSchedule &schedule,
                                    ArrayRef<Channel> channels) {
  std::set<std::pair<int64_t, int64_t>> pairs = pairsOf(schedule);
  for (auto [from, to] : pairs)
    if (llvm::count_if(channels, [&](const Channel &channel) {
          return channel.from == from && channel.to == to;
        }) != 1)
      return emitError(op.getLoc())
             << "'" << kChannels << "' must have one channel from rank " << from
             << " to rank " << to
             << "; run pipeline-schedule-communication again";
  for (auto [number, channel] : llvm::enumerate(channels)) {
    if (!pairs.count({channel.from, channel.to}))
      return emitError(op.getLoc())
             << "'" << kChannels << "' has a channel from rank " << channel.from
             << " to rank " << channel.to << ", which exchange nothing";
    for (const Channel &other : channels.take_front(number))
      if (other.round == channel.round &&
          (other.from == channel.from || other.from == channel.to ||
           other.to == channel.from || other.to == channel.to))
        return emitError(op.getLoc())
               << "'" << kChannels << "' makes the channels " << other.from
               << " to " << other.to << " and " << channel.from << " to "
               << channel.to << " in one round, " << channel.round
               << ", although they share a rank";
  }
  return success();
}

FailureOr<CommPlan> readCommunication(ScheduleOp schedule) {
  FailureOr<Schedule> orders = readSchedule(schedule);
  auto channels = schedule->getAttrOfType<ArrayAttr>(kChannels);
  if (failed(orders))
    return failure();
  if (!channels)
    return emitError(schedule.getLoc())
           << "the schedule has no '" << kChannels
           << "'; run pipeline-schedule-communication";
  CommPlan plan;
  plan.schedule.stages = orders->stages;
  plan.schedule.microbatches = orders->microbatches;
  for (Attribute attribute : channels) {
    FailureOr<Channel> channel = readChannel(schedule, attribute);
    if (failed(channel))
      return failure();
    plan.channels.push_back(*channel);
  }
  for (OrderOp op : schedule.getBody().front().getOps<OrderOp>()) {
    auto text = op->getAttrOfType<StringAttr>(kCommunication);
    if (!text)
      return op.emitOpError() << "has no '" << kCommunication
                              << "'; run pipeline-schedule-communication";
    Result<CommOrder> order = parseCommOrder(text.getValue());
    if (!order)
      return op.emitOpError() << order.error().message;
    plan.schedule.ranks.push_back(std::move(*order));
  }
  if (withoutCommunication(plan.schedule).ranks != orders->ranks)
    return emitError(schedule.getLoc())
           << "'" << kCommunication << "' computes something else than the "
           << "orders; run pipeline-schedule-communication again";
  if (Status status = verify(plan.schedule, stageGraphOf(programOf(schedule)));
      !status)
    return emitWithNotes(schedule.getLoc(), status.error());
  if (failed(verifyChannels(schedule, plan.schedule, plan.channels)))
    return failure();
  return plan;
}

} // namespace stagewright::pipeline
