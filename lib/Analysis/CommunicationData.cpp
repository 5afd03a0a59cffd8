//===- CommunicationData.cpp - messages of a schedule
//----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/CommunicationData.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/PlanData.h"

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
    return emitError(schedule.getLoc()) << status.error().message;
  return plan;
}

} // namespace stagewright::pipeline
