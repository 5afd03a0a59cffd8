//===- FlowCertificate.cpp - bounds of transfers that share links ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Flows.h"
#include "stagewright/Simulation/PipelineTimeline.h"
#include "stagewright/Support/Names.h"
#include <algorithm>
#include <functional>
#include <map>

namespace stagewright {

static constexpr Named<LinkSharing> kPolicies[] = {
    {LinkSharing::Oes, "oes"},
    {LinkSharing::Guaranteed, "guaranteed"},
    {LinkSharing::Fair, "fair"},
    {LinkSharing::Fifo, "fifo"}};

const char *toString(LinkSharing sharing) {
  return sharing == LinkSharing::Turns ? "turns" : nameIn(kPolicies, sharing);
}

Result<LinkSharing> parseLinkSharing(std::string_view name) {
  return valueIn(kPolicies, "policy", name);
}

namespace {
/// A lane of a channel in one direction.
struct Connection {
  size_t channel, lane, lanes;
  bool backward;
  size_t resource; ///< The number of the lane among the links.
  const std::vector<size_t> *links;
  Seconds alone; ///< Time of a flow alone on `links`, without the latency.
};
} // namespace

static std::vector<Connection> connectionsOf(const PipelineModel &model) {
  static const std::vector<size_t> kNone;
  std::vector<Connection> all;
  auto add = [&](size_t number, bool backward, Seconds time, Seconds latency,
                 const std::vector<size_t> &lanes,
                 const std::vector<std::vector<size_t>> &shared) {
    for (size_t lane = 0; lane < lanes.size(); ++lane)
      all.push_back(
          {number, lane, lanes.size(), backward, lanes[lane],
           shared.empty() ? &kNone : &shared[shared.size() == 1 ? 0 : lane],
           std::max(Seconds(), time - latency)});
  };
  for (size_t i = 0; i < model.channels.size(); ++i) {
    const PipelineChannel &it = model.channels[i];
    if (it.hasForward)
      add(i, false, it.forward, it.latency, it.forwardLanes, it.forwardShared);
    if (it.hasBackward && !model.forwardOnly)
      add(i, true, it.backward, it.latency, it.backwardLanes,
          it.backwardShared);
  }
  return all;
}

std::vector<size_t> linkDegrees(const PipelineModel &model) {
  std::vector<size_t> degrees(model.numLinks, 0);
  for (const Connection &connection : connectionsOf(model))
    if (connection.alone > Seconds())
      for (size_t link : *connection.links)
        ++degrees[link];
  return degrees;
}

std::vector<double> linkBytes(const PipelineModel &model) {
  std::vector<double> bytes(model.numLinks, 0);
  for (const Connection &connection : connectionsOf(model)) {
    double rate = std::numeric_limits<double>::infinity();
    for (size_t link : *connection.links)
      rate = std::min(rate, model.linkRates[link]);
    auto flows =
        (size_t(model.microbatches) + connection.lanes - 1 - connection.lane) /
        connection.lanes;
    for (size_t link : *connection.links)
      bytes[link] += double(flows) * connection.alone.value * rate;
  }
  return bytes;
}

/// Whether microbatch `next` is made after `m` at the source of a transfer,
/// whatever the rates.
using IsAfter =
    std::function<bool(const Connection &, int64_t m, int64_t next)>;

/// Fails if the order in which a lane carries its transfers, or host copies,
/// depends on the rates.
static Status checkLanes(const PipelineModel &model, const IsAfter &isAfter) {
  std::map<size_t, std::string> users;
  auto use = [&](size_t lane, const std::string &user) -> Status {
    auto [entry, isNew] = users.try_emplace(lane, user);
    if (isNew)
      return {};
    return Error{entry->second + " and " + user + " take turns on lane " +
                 std::to_string(lane) +
                 " in an order that depends on rates, so no bound is known; "
                 "use full-duplex channels"};
  };
  for (const Connection &it : connectionsOf(model)) {
    std::string name = "channel " + std::to_string(it.channel) +
                       (it.backward ? " backwards" : " forwards");
    if (Status status = use(it.resource, name); !status)
      return status;
    auto lanes = static_cast<int64_t>(it.lanes);
    for (auto m = static_cast<int64_t>(it.lane); m + lanes < model.microbatches;
         m += lanes)
      if (!isAfter(it, m, m + lanes))
        return Error{name + " carries microbatches " + std::to_string(m) +
                     " and " + std::to_string(m + lanes) +
                     " in an order that depends on rates, so no bound is "
                     "known; use a schedule with microbatches in order"};
  }
  for (size_t stage = 0; stage < model.stages.size(); ++stage)
    for (const std::vector<size_t> *lanes :
         {&model.stages[stage].leavingLanes, &model.stages[stage].comingLanes})
      for (size_t lane : *lanes)
        if (Status status =
                use(lane, "the copies of stage " + std::to_string(stage));
            !status)
          return status;
  return {};
}

/// Fails if links do not share rates, or if collectives change the times of
/// other blocks or may change their order.
static Status checkCollectives(const PipelineModel &model) {
  if (model.sharing == LinkSharing::Turns)
    return Error{"transfers take turns on links, so that their order is not "
                 "fixed; choose oes, guaranteed, fair or fifo"};
  if (model.collectiveSlowdown != 1)
    return Error{"collectives slow down compute, so no bound is known"};
  std::map<size_t, size_t> users;
  for (const PipelineStage &stage : model.stages)
    for (size_t processor : stage.processors)
      ++users[processor];
  for (size_t s = 0; s < model.stages.size(); ++s) {
    const PipelineStage &stage = model.stages[s];
    bool isShared =
        std::any_of(stage.processors.begin(), stage.processors.end(),
                    [&](size_t processor) { return users[processor] > 1; });
    if (isShared && stage.processors.size() > 1 && stage.tail > Seconds())
      return Error{"the all-reduce of stage " + std::to_string(s) +
                   " takes turns with others in an order that depends on "
                   "rates, so no bound is known"};
  }
  return {};
}

/// `model` with every flow alone on its links.
static PipelineModel aloneOf(PipelineModel model) {
  model.sharing = LinkSharing::Turns;
  for (PipelineChannel &channel : model.channels) {
    channel.forwardShared.clear();
    channel.backwardShared.clear();
  }
  return model;
}

static FlowCertificate certify(const PipelineModel &model, Seconds alone,
                               Seconds makespan) {
  FlowCertificate result;
  for (size_t degree : linkDegrees(model))
    result.degree = std::max(result.degree, degree);
  std::vector<double> bytes = linkBytes(model);
  for (size_t link = 0; link < bytes.size(); ++link)
    result.linkLoad =
        std::max(result.linkLoad, Seconds(bytes[link] / model.linkRates[link]));
  result.sharing = model.sharing;
  result.criticalPath = alone;
  result.makespan = makespan;
  return result;
}

Result<FlowCertificate> certifyFlows(const PipelineModel &model,
                                     ExecutionOrder order) {
  if (Status status = model.check(); !status)
    return status.error();
  if (Status status = checkCollectives(model); !status)
    return status.error();
  std::vector<size_t> stagesOn(model.numProcessors, 0);
  size_t most = 0;
  for (const PipelineStage &stage : model.stages)
    for (size_t processor : stage.processors)
      most = std::max(most, ++stagesOn[processor]);
  bool isFixed =
      order == ExecutionOrder::GPipe ? !model.hasReturns() : most == 1;
  if (!isFixed ||
      (order != ExecutionOrder::GPipe && order != ExecutionOrder::OneFOneB))
    return Error{std::string("the order '") + toString(order) +
                 "' chooses among ready blocks, which depend on rates, so no "
                 "bound is known; choose gpipe, or 1f1b with one stage on each "
                 "device"};
  auto isAfter = [&](const Connection &it, int64_t m, int64_t next) {
    const PipelineChannel &channel = model.channels[it.channel];
    const std::vector<size_t> &makers =
        model.stages[it.backward ? channel.to : channel.from].processors;
    return makers[size_t(m) % makers.size()] ==
           makers[size_t(next) % makers.size()];
  };
  if (Status status = checkLanes(model, isAfter); !status)
    return status.error();
  return certify(model, makespanOf(aloneOf(model), order),
                 makespanOf(model, order));
}

Result<FlowCertificate> certifyFlows(const PipelineModel &model,
                                     const Schedule &schedule) {
  Result<PipelineTimeline> timeline = simulatePipeline(model, schedule);
  if (!timeline)
    return timeline.error();
  if (Status status = checkCollectives(model); !status)
    return status.error();
  // By stage, microbatch and direction: rank and position.
  std::map<std::tuple<int64_t, int64_t, bool>, std::pair<size_t, size_t>> made;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (size_t at = 0; at < schedule.ranks[rank].size(); ++at) {
      const Action &action = schedule.ranks[rank][at];
      if (action.kind == ActionKind::Forward ||
          action.kind == ActionKind::Backward ||
          action.kind == ActionKind::InputGradient)
        made[{action.stage, action.microbatch,
              action.kind != ActionKind::Forward}] = {rank, at};
    }
  auto isAfter = [&](const Connection &it, int64_t m, int64_t next) {
    const PipelineChannel &channel = model.channels[it.channel];
    auto stage = int64_t(it.backward ? channel.to : channel.from);
    auto before = made.find({stage, m, it.backward}),
         after = made.find({stage, next, it.backward});
    return before != made.end() && after != made.end() &&
           before->second.first == after->second.first &&
           before->second.second < after->second.second;
  };
  if (Status status = checkLanes(model, isAfter); !status)
    return status.error();
  Result<PipelineTimeline> alone = simulatePipeline(aloneOf(model), schedule);
  if (!alone)
    return alone.error();
  return certify(model, alone->makespan, timeline->makespan);
}

std::string describe(const FlowCertificate &certificate) {
  std::string most = "at most " + std::to_string(certificate.degree) +
                     " x critical path " + toString(certificate.criticalPath) +
                     " = " + toString(certificate.upperBound()) + ", ";
  return toString(certificate.makespan) + "; " +
         (certificate.isBounded() ? most : "") + "at least " +
         toString(certificate.lowerBound());
}

} // namespace stagewright
