//===- FlowsTest.cpp - transfers that share links -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Flows.h"
#include "FlowInstances.h"
#include "PipelineModels.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Simulation/PipelineTimeline.h"
#include <array>
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

constexpr LinkSharing kPolicies[] = {LinkSharing::Oes, LinkSharing::Guaranteed,
                                     LinkSharing::Fair, LinkSharing::Fifo};

double spanOf(const FlowInstance &instance, LinkSharing sharing) {
  return makespanOf(modelOf(instance, sharing), ExecutionOrder::OneFOneB).value;
}

/// Machine 0 sends 8 bytes to machine 1 and 4 bytes to machine 2 at once, then
/// nothing; it has an edge to machine 3 too, which is used after 100 s. All
/// NICs carry 3 bytes per second.
FlowInstance threeReceivers() {
  FlowInstance instance;
  instance.in = instance.out = {3, 3, 3, 3};
  instance.tasks = {{0, 1}, {1, 0.5}, {2, 0.5}, {0, 100}, {3, 0.5}};
  instance.edges = {{0, 1, 8}, {0, 2, 4}, {3, 4, 3}};
  return instance;
}

/// When the consumer of edge `number` ends, by simulatePipeline().
double endOf(const FlowInstance &instance, LinkSharing sharing, size_t number) {
  Result<PipelineTimeline> timeline =
      simulatePipeline(modelOf(instance, sharing), ExecutionOrder::OneFOneB);
  EXPECT_TRUE(timeline.ok());
  return timeline->channels[number].front().end.value;
}

TEST(Flows, GuaranteedRatesAreByConnections) {
  // Three connections leave machine 0, so each has 1 byte per second.
  FlowInstance instance = threeReceivers();
  EXPECT_NEAR(endOf(instance, LinkSharing::Guaranteed, 0), 9, 1e-9);
  EXPECT_NEAR(endOf(instance, LinkSharing::Guaranteed, 1), 5, 1e-9);
  EXPECT_NEAR(endOf(instance, LinkSharing::Guaranteed, 2), 103, 1e-9);
}

TEST(Flows, OesAndFairShareGiveAwayTheRest) {
  // Both have 1.5 until 4 bytes are sent after 4 / 1.5 s; then 4 bytes at 3.
  for (LinkSharing sharing : {LinkSharing::Oes, LinkSharing::Fair}) {
    EXPECT_NEAR(endOf(threeReceivers(), sharing, 1), 1 + 4 / 1.5, 1e-9);
    EXPECT_NEAR(endOf(threeReceivers(), sharing, 0), 1 + 4 / 1.5 + 4 / 3.0,
                1e-9);
    EXPECT_NEAR(endOf(threeReceivers(), sharing, 2), 101, 1e-9);
  }
}

TEST(Flows, FifoServesTheFirst) {
  EXPECT_NEAR(endOf(threeReceivers(), LinkSharing::Fifo, 0), 1 + 8 / 3.0, 1e-9);
  EXPECT_NEAR(endOf(threeReceivers(), LinkSharing::Fifo, 1), 5, 1e-9);
}

// What rounding leaves of a link must not be used as a rate: 0.8 - 0.7 - 0.1 is
// 8e-17, at which a transfer would take longer than Ticks can count. The NIC of
// the sender is always in use, so the last transfer ends when all bytes are
// sent.
TEST(Flows, FifoGivesAwayNoErrorsOfRounding) {
  for (std::array<double, 4> rates :
       {std::array{0.8, 0.7, 0.1, 0.8},
        std::array{11.732e9, 11.7319e9, 11.732e9, 11.732e9}}) {
    FlowInstance instance;
    instance.out = {rates[0], 1e12, 1e12, 1e12};
    instance.in = {1e12, rates[1], rates[2], rates[3]};
    instance.tasks = {{0, 1}, {1, 0.5}, {2, 0.5}, {3, 0.5}};
    double bytes = 90 * rates[0];
    instance.edges = {{0, 1, bytes}, {0, 2, bytes}, {0, 3, bytes}};
    double last = 0;
    for (size_t edge = 0; edge < 3; ++edge)
      last = std::max(last, endOf(instance, LinkSharing::Fifo, edge));
    EXPECT_GE(last, 1 + 270 - 1e-6);
    EXPECT_LE(last, 1 + 90 * rates[0] / std::min(rates[2], rates[0]) + 270);
  }
}

TEST(Flows, FifoStatesNoUpperBound) {
  Result<FlowCertificate> fifo = certifyFlows(
      modelOf(threeReceivers(), LinkSharing::Fifo), ExecutionOrder::OneFOneB);
  ASSERT_TRUE(fifo.ok());
  EXPECT_EQ(describe(*fifo).find("at most"), std::string::npos);
}

TEST(Flows, LatencyHoldsTheLaneButNotTheLinks) {
  FlowInstance instance = threeReceivers();
  PipelineModel model = modelOf(instance, LinkSharing::Fifo);
  for (PipelineChannel &channel : model.channels) {
    channel.latency = Seconds(2);
    channel.forward += channel.latency;
  }
  Result<PipelineTimeline> timeline =
      simulatePipeline(model, ExecutionOrder::OneFOneB);
  ASSERT_TRUE(timeline.ok());
  EXPECT_NEAR(timeline->channels[0].front().end.value, 3 + 8 / 3.0, 1e-9);
  EXPECT_NEAR(timeline->channels[1].front().end.value, 7, 1e-9);
}

TEST(Flows, AgreesWithTheSlowSimulator) {
  Draw draw(1);
  for (int i = 0; i < 300; ++i) {
    FlowInstance instance = randomFlows(draw);
    for (LinkSharing sharing : kPolicies) {
      double expected = referenceMakespan(instance, sharing);
      EXPECT_NEAR(spanOf(instance, sharing), expected, 1e-7 * expected)
          << "instance " << i << ", " << toString(sharing);
    }
  }
}

/// Water-filling is compared where the order of every task is fixed: if tasks
/// chose among ready iterations, an earlier arrival could make them choose
/// another one first and end later (Graham's anomaly), as for Greedy.
TEST(Flows, BoundHoldsOnRandomInstances) {
  Draw draw(2);
  for (int i = 0; i < 2000; ++i) {
    FlowInstance instance = randomFlows(draw);
    double path = referencePath(instance), guaranteed = 0;
    for (LinkSharing sharing : {LinkSharing::Guaranteed, LinkSharing::Oes,
                                LinkSharing::Fair, LinkSharing::Fifo}) {
      Result<FlowCertificate> certificate =
          certifyFlows(modelOf(instance, sharing), ExecutionOrder::OneFOneB);
      ASSERT_TRUE(certificate.ok());
      double span = certificate->makespan.value;
      EXPECT_NEAR(certificate->criticalPath.value, path, 1e-9 * path);
      EXPECT_GE(span, certificate->lowerBound().value * (1 - 1e-9));
      if (sharing == LinkSharing::Fifo)
        continue; // Has no bound.
      EXPECT_TRUE(certificate->holds()) << "instance " << i;
      EXPECT_LE(span, double(certificate->degree) * path * (1 + 1e-9));
      if (sharing == LinkSharing::Guaranteed)
        guaranteed = span;
      if (sharing == LinkSharing::Oes)
        EXPECT_LE(span, guaranteed * (1 + 1e-9)) << "instance " << i;
    }
  }
}

/// Pipelines with backwards: stages on hosts whose NICs are shared, in given
/// schedules.
TEST(Flows, BoundHoldsForSchedules) {
  std::mt19937 random(3);
  auto below = [&](size_t count) { return size_t(random() % count); };
  for (int i = 0; i < 200; ++i) {
    size_t stages = 2 + below(4), hosts = 2 + below(2);
    PipelineModel model =
        chainModel(std::vector<double>(stages, 1.0),
                   std::vector<double>(stages, 2.0), {}, int64_t(1 + below(6)));
    model.numLinks = 2 * hosts;
    std::vector<size_t> hostOf;
    for (size_t s = 0; s < stages; ++s)
      hostOf.push_back(below(hosts));
    for (size_t to = 1; to < stages; ++to)
      for (size_t from = 0; from < to; ++from) {
        if (from + 1 != to && below(3) != 0)
          continue;
        PipelineChannel channel;
        channel.from = from;
        channel.to = to;
        channel.forwardLanes = {model.numLinks++};
        channel.backwardLanes = {model.numLinks++};
        channel.forward = channel.backward = Seconds(0.25 * double(below(12)));
        size_t a = hostOf[from], b = hostOf[to];
        if (a != b) {
          channel.forwardShared = {{2 * a, 2 * b + 1}};
          channel.backwardShared = {{2 * b, 2 * a + 1}};
        }
        model.channels.push_back(channel);
      }
    model.linkRates.assign(model.numLinks, 1e9);
    Result<Schedule> schedule =
        generateOneFOneB({int64_t(stages), model.microbatches});
    ASSERT_TRUE(schedule.ok());
    for (LinkSharing sharing : {LinkSharing::Oes, LinkSharing::Fair}) {
      model.sharing = sharing;
      Result<FlowCertificate> bySchedule = certifyFlows(model, *schedule),
                              byOrder =
                                  certifyFlows(model, ExecutionOrder::GPipe);
      ASSERT_TRUE(bySchedule.ok() && byOrder.ok());
      EXPECT_TRUE(bySchedule->holds());
      EXPECT_TRUE(byOrder->holds());
    }
  }
}

TEST(Flows, RefusesWhatHasNoBound) {
  PipelineModel model = chainModel({1, 1}, {2, 2}, {1}, 4);
  auto errorOf = [&](ExecutionOrder order) {
    Result<FlowCertificate> certificate = certifyFlows(model, order);
    return certificate ? "" : certificate.error().message;
  };
  EXPECT_EQ(errorOf(ExecutionOrder::OneFOneB),
            "transfers take turns on links, so that their order is not fixed; "
            "choose oes, guaranteed, fair or fifo");
  model.sharing = LinkSharing::Oes;
  EXPECT_EQ(errorOf(ExecutionOrder::OneFOneB),
            "expected the rates of 1 links but got 0");
  model.linkRates = {1};
  EXPECT_EQ(
      errorOf(ExecutionOrder::OneFOneB),
      "channel 0 forwards and channel 0 backwards take turns on lane 0 in "
      "an order that depends on rates, so no bound is known; use "
      "full-duplex channels");
  EXPECT_EQ(errorOf(ExecutionOrder::Greedy),
            "the order 'greedy' chooses among ready blocks, which depend on "
            "rates, so no bound is known; choose gpipe, or 1f1b with one stage "
            "on each device");
  Result<PipelineTimeline> window =
      simulatePipeline(model, ExecutionOrder::Window);
  ASSERT_FALSE(window.ok());
  EXPECT_EQ(window.error().message,
            "the order 'window' is not defined where links share rates or a "
            "channel leads to a later microbatch; choose 1f1b or gpipe");
  model.channels[0].forwardShared = {{0}};
  model.linkRates = {0};
  EXPECT_EQ(errorOf(ExecutionOrder::GPipe),
            "the rate of link 0 is 0.000000 bytes per second; expected a "
            "positive finite number");
  model.channels[0].distance = 1;
  EXPECT_EQ(errorOf(ExecutionOrder::GPipe),
            "channel 0 has distance 1; expected 0, or more in a pipeline "
            "without backwards");
}

// Stage 0 waits until stage 1, which is on the same processor, has run the
// previous microbatch.
TEST(Flows, GPipeWithReturnsRunsEverything) {
  PipelineModel model = chainModel({1, 1}, {2, 2}, {0}, 4);
  model.forwardOnly = true;
  model.stages[1].processors = model.stages[0].processors;
  PipelineChannel back = model.channels[0];
  std::swap(back.from, back.to);
  back.distance = 1;
  model.channels.push_back(back);
  EXPECT_EQ(makespanOf(model, ExecutionOrder::GPipe).value, 8);
  model.sharing = LinkSharing::Oes;
  model.linkRates.assign(model.numLinks, 1);
  EXPECT_FALSE(certifyFlows(model, ExecutionOrder::GPipe));
}

TEST(Flows, PoliciesHaveNames) {
  for (LinkSharing sharing : kPolicies) {
    Result<LinkSharing> parsed = parseLinkSharing(toString(sharing));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, sharing);
  }
  EXPECT_EQ(parseLinkSharing("tcp").error().message,
            "unknown policy 'tcp'; there are oes, guaranteed, fair, fifo");
}

} // namespace
