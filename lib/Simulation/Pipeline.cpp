//===- Pipeline.cpp - checks, and the makespan of an order ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Pipeline.h"
#include "PipelineEngine.h"
#include "stagewright/Support/Limits.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

static Status checkTime(Seconds seconds, const std::string &what) {
  if (std::isfinite(seconds.value) && seconds.value >= 0)
    return {};
  return Error{what + " takes " + std::to_string(seconds.value) +
               " seconds; expected a finite number, not negative"};
}

static Status checkNumbers(const std::vector<size_t> &numbers, size_t count,
                           const std::string &what) {
  for (size_t number : numbers)
    if (number >= count)
      return Error{what + " number " + std::to_string(number) +
                   " is out of range; there are " + std::to_string(count)};
  return {};
}

static Status checkStage(const PipelineModel &model, size_t number) {
  const PipelineStage &stage = model.stages[number];
  std::string name = "stage " + std::to_string(number);
  for (const auto &[seconds, what] :
       {std::pair(stage.times.forward, "the forward of "),
        std::pair(stage.times.inputGradient, "the input gradient of "),
        std::pair(stage.times.weightGradient, "the weight gradient of "),
        std::pair(stage.copying, "the copies of "),
        std::pair(stage.tail, "the tail of "),
        std::pair(stage.overlapped, "the overlapped all-reduce of ")})
    if (Status status = checkTime(seconds, what + name); !status)
      return status;
  if (stage.processors.empty())
    return Error{name + " has no processor"};
  for (const std::vector<size_t> *lanes :
       {&stage.leavingLanes, &stage.comingLanes})
    if (Status status = checkNumbers(*lanes, model.numLinks, name + ": link");
        !status)
      return status;
  return checkNumbers(stage.processors, model.numProcessors,
                      name + ": processor");
}

static Status checkChannel(const PipelineModel &model, size_t number) {
  const PipelineChannel &channel = model.channels[number];
  std::string name = "channel " + std::to_string(number);
  if (channel.distance < 0 || (channel.distance > 0 && !model.forwardOnly))
    return Error{name + " has distance " + std::to_string(channel.distance) +
                 "; expected 0, or more in a pipeline without backwards"};
  if (std::max(channel.from, channel.to) >= model.stages.size() ||
      (channel.from >= channel.to && channel.distance == 0))
    return Error{name + " goes from stage " + std::to_string(channel.from) +
                 " to stage " + std::to_string(channel.to) +
                 "; expected a later one of " +
                 std::to_string(model.stages.size()) + " stages"};
  if (Status status = checkTime(channel.latency, "the latency of " + name);
      !status)
    return status;
  for (const auto &[has, seconds, lanes, shared] :
       {std::tie(channel.hasForward, channel.forward, channel.forwardLanes,
                 channel.forwardShared),
        std::tie(channel.hasBackward, channel.backward, channel.backwardLanes,
                 channel.backwardShared)}) {
    if (!has)
      continue;
    if (Status status = checkTime(seconds, "a transfer of " + name); !status)
      return status;
    if (lanes.empty())
      return Error{name + " has no lane"};
    if (shared.size() > 1 && shared.size() != lanes.size())
      return Error{name + " has lists of shared links for " +
                   std::to_string(shared.size()) + " lanes, but " +
                   std::to_string(lanes.size()) + " lanes"};
    std::vector<size_t> links = lanes;
    for (const std::vector<size_t> &ofLane : shared)
      links.insert(links.end(), ofLane.begin(), ofLane.end());
    if (Status status = checkNumbers(links, model.numLinks, name + ": link");
        !status)
      return status;
    if (model.sharing == LinkSharing::Turns)
      continue;
    for (const std::vector<size_t> &ofLane : shared)
      for (size_t link : ofLane)
        if (double rate = model.linkRates[link];
            !std::isfinite(rate) || rate <= 0)
          return Error{"the rate of link " + std::to_string(link) + " is " +
                       std::to_string(rate) +
                       " bytes per second; expected a positive finite number"};
  }
  return {};
}

bool PipelineModel::hasReturns() const {
  return std::any_of(
      channels.begin(), channels.end(),
      [](const PipelineChannel &channel) { return channel.distance > 0; });
}

Status PipelineModel::check() const {
  if (stages.empty())
    return Error{"a pipeline needs at least one stage"};
  if (microbatches < 1 || microbatches > kMostMicrobatches)
    return Error{"expected 1 to " + std::to_string(kMostMicrobatches) +
                 " microbatches but got " + std::to_string(microbatches)};
  if (!std::isfinite(collectiveSlowdown) || collectiveSlowdown < 1)
    return Error{"expected a collective slowdown of at least 1 but got " +
                 std::to_string(collectiveSlowdown)};
  if (sharing != LinkSharing::Turns && linkRates.size() != numLinks)
    return Error{"expected the rates of " + std::to_string(numLinks) +
                 " links but got " + std::to_string(linkRates.size())};
  for (size_t stage = 0; stage < stages.size(); ++stage)
    if (Status status = checkStage(*this, stage); !status)
      return status;
  for (size_t channel = 0; channel < channels.size(); ++channel)
    if (Status status = checkChannel(*this, channel); !status)
      return status;
  for (const PipelineTie &tie : ties) {
    if (Status status = checkTime(tie.seconds, "a tie"); !status)
      return status;
    if (tie.from >= stages.size() || tie.to >= stages.size())
      return Error{"a tie joins stages " + std::to_string(tie.from) + " and " +
                   std::to_string(tie.to) + " of " +
                   std::to_string(stages.size())};
  }
  return {};
}

PipelineSimulator::PipelineSimulator()
    : engine(std::make_unique<PipelineEngine>()) {}

PipelineSimulator::~PipelineSimulator() = default;

Seconds PipelineSimulator::makespanOf(const PipelineModel &model,
                                      ExecutionOrder order, Seconds atMost) {
  Ticks ticks = engine->run(model, order, atMost, /*record=*/false);
  Seconds makespan = engine->rows.scale.seconds(ticks);
  if (ticks == kNever || makespan > atMost)
    return Seconds(std::numeric_limits<double>::infinity());
  return makespan;
}

Seconds makespanOf(const PipelineModel &model, ExecutionOrder order,
                   Seconds atMost) {
  return PipelineSimulator().makespanOf(model, order, atMost);
}

} // namespace stagewright
