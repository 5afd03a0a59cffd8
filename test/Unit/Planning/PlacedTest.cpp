//===- PlacedTest.cpp - several stages on every device --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "Chains/BestCut.h"
#include "Placed/PlacedSearch.h"
#include "stagewright/Simulation/PipelineTimeline.h"
#include <gtest/gtest.h>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward;
static constexpr ActionKind I = ActionKind::InputGradient;
static constexpr ActionKind W = ActionKind::WeightGradient;

/// A chain on equal devices: layer l takes loads[l] seconds for each of F, I
/// and W, sends 2 bytes forward and gets 3 back, and keeps 10 bytes for I and
/// W. Links transfer a byte per second.
static Problem chain(const std::vector<double> &loads, int64_t devices,
                     int64_t microbatches) {
  Problem problem;
  problem.cluster = *localCluster(devices);
  for (Link &link : problem.cluster.links)
    link = {link.from, link.to, Bandwidth(1), Seconds(0)};
  problem.microbatches = microbatches;
  int64_t layers = loads.size();
  for (int64_t l = 0; l < layers; ++l) {
    Seconds load(loads[l]);
    problem.layers.push_back({"l" + std::to_string(l), {{load, load, load}}});
    problem.values.push_back({Bytes(10), {l, F}, {{l, I}, {l, W}}});
    problem.values.push_back({Bytes(4), {l, I}, {{l, W}}});
    if (l + 1 == layers)
      break;
    problem.values.push_back({Bytes(2), {l, F}, {{l + 1, F}}});
    problem.values.push_back({Bytes(3), {l + 1, I}, {{l, I}}});
  }
  return problem;
}

static std::vector<int64_t> sizesOf(const Plan &plan) {
  std::vector<int64_t> sizes;
  for (const StagePlan &stage : plan.stages)
    sizes.push_back(int64_t(stage.layers.size()));
  return sizes;
}

/// All forwards of a loop of chunks, then all backwards; for tests that must
/// not depend on the list of generators.
static Result<Schedule> allForwards(const ScheduleShape &shape) {
  Schedule schedule{"all-forwards", shape.ranks * shape.chunks,
                    shape.microbatches, std::vector<Order>(shape.ranks)};
  for (int64_t r = 0; r < shape.ranks; ++r) {
    auto stages = stagesOf(Placement::Loop, shape.ranks, shape.chunks, r);
    for (int64_t s : stages)
      for (int64_t m = 0; m < shape.microbatches; ++m)
        schedule.ranks[r].push_back({F, s, m});
    std::reverse(stages.begin(), stages.end());
    for (int64_t s : stages)
      for (int64_t m = 0; m < shape.microbatches; ++m)
        schedule.ranks[r].push_back({ActionKind::Backward, s, m});
  }
  return schedule;
}

static constexpr Generator kAllForwards = {
    "all-forwards", "all_forwards", Placement::Loop, 1, 0, true, false, "",
    allForwards};

TEST(Placed, RanksOfStagesSayHowTheyLie) {
  auto lie = [](const std::vector<std::vector<int64_t>> &ranks) {
    Result<StagePlacement> where = placementOf(ranks);
    return where ? std::string(toString(where->placement)) + " " +
                       std::to_string(where->ranks) + " " +
                       std::to_string(where->chunks) +
                       (where->spare == 0
                            ? ""
                            : " but " + std::to_string(where->spare))
                 : where.error().message;
  };
  EXPECT_EQ(lie({{0}, {1}, {2}}), "linear 3 1");
  EXPECT_EQ(lie({{0}, {0}, {1}, {1}}), "linear 2 2");
  EXPECT_EQ(lie({{0}, {1}, {0}, {1}}), "loop 2 2");
  EXPECT_EQ(lie({{0}, {1}, {1}, {0}}), "v 2 2");
  EXPECT_EQ(lie({{0}, {1}, {1}, {0}, {0}, {1}}), "v 2 3");
  EXPECT_EQ(lie({{0, 1}, {1, 0}}), "twin 2 1");
  EXPECT_EQ(
      lie({{0, 1}, {2, 3}}),
      "a stage lies on 2 devices, but the stages are neither twins (stage "
      "s on device s and on its mirror image) nor replicas (stages that "
      "share a device share all their devices, in the same order)");
  EXPECT_EQ(lie({{0}, {1}, {0}}), "loop 2 2 but 1");
  EXPECT_EQ(lie({{0}, {1}, {2}, {0}}), "loop 3 2 but 2");
  EXPECT_EQ(lie({{0}, {1}, {1}}),
            "3 stages lie on 2 devices; schedules want equally many on each, "
            "or go round them in order");
  EXPECT_EQ(lie({{0}, {1}, {2}, {1}, {0}, {2}}),
            "6 stages lie on 3 devices in an order that is not linear, loop or "
            "v; partition with chunks= and placement=");
}

TEST(Placed, EvenChainIsCutEvenly) {
  Problem problem = chain(std::vector<double>(8, 1), 2, 4);
  Plan found = *planPlaced(problem, {{Placement::Loop, 2, 2}, {kAllForwards}});
  EXPECT_EQ(sizesOf(found), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(found.schedule, "all-forwards");
  EXPECT_EQ(found.stages[0].devices, std::vector<size_t>{0});
  EXPECT_EQ(found.stages[3].devices, std::vector<size_t>{1});
  // Each rank works 4 * 4 * 3 s, which bounds all plans. In this plan the
  // second rank also waits for a forward of 2 s and its 2 bytes, and after its
  // last backward come 3 bytes and the first rank's 4 s.
  EXPECT_EQ(found.planBound.value, 48 + 4 + 7);
  EXPECT_EQ(found.familyBound.value, 48);
}

/// The simulated time of `stages` in the order of allForwards().
static Seconds timeOf(const Problem &problem, const StagePlacement &where,
                      std::vector<StagePlan> stages) {
  Network network = *Network::create(problem.cluster);
  ScheduleProblem costs = *scheduleProblemOf(problem, network, stages, where);
  Plan plan;
  plan.stages = std::move(stages);
  PipelineModel model = pipelineOf(problem, network, plan);
  return simulatePipeline(model, *allForwards(shapeOf(kAllForwards, costs)))
      ->makespan;
}

// Both minima by the plain dynamic program: the max of the loads, then the sum
// of their squares.
TEST(Placed, EvenCutsAreThoseOfThePlainProgram) {
  stagewright::testing::Draw draw(9);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> seconds;
    for (int64_t l = draw.whole(4, 24); l > 0; --l) // Often equal.
      seconds.push_back(double(draw.whole(0, 4)));
    Problem problem = chain(seconds, 4, 4);
    if (round % 3 == 0) {
      problem.cluster.devices[1].deviceClass = "slow";
      for (Layer &layer : problem.layers)
        layer.times.push_back({layer.times[0].forward * draw.real(1, 3),
                               layer.times[0].inputGradient,
                               layer.times[0].weightGradient});
    }
    PlacedRequest request{{Placement::Loop, draw.whole(1, 4), 1}, {}, 1};
    request.where.chunks = draw.whole(
        1, std::max<int64_t>(1, int64_t(seconds.size()) / request.where.ranks));
    std::vector<size_t> classOf = problem.cluster.classOfDevices();
    auto load = [&](int64_t s, int64_t first, int64_t end) {
      size_t c = classOf[size_t(s % request.where.ranks)];
      double sum[] = {0, 0};
      for (int64_t l = 0; l < end; ++l)
        for (int part = l < first ? 0 : 1; part < 2; ++part)
          sum[part] += problem.layers[size_t(l)].times[c].total().value;
      return sum[1] - sum[0];
    };
    int64_t layers = int64_t(seconds.size()),
            stages = request.where.numStages();
    double most = 0, squares = 0;
    bestCut(
        layers, stages, load, [](double a, double b) { return std::max(a, b); },
        most);
    std::vector<int64_t> expected = bestCut(
        layers, stages,
        [&](int64_t s, int64_t first, int64_t end) {
          double value = load(s, first, end);
          return value <= most * (1 + 1e-9)
                     ? value * value
                     : std::numeric_limits<double>::infinity();
        },
        [](double a, double b) { return a + b; }, squares);
    EXPECT_EQ(evenCut(problem, request), expected) << "round " << round;
  }
}

TEST(Placed, TimeIsThatOfTheScheduleItNames) {
  Problem problem = chain({1, 3, 2, 1, 1, 2, 1, 4, 1}, 2, 6);
  StagePlacement where = {Placement::Loop, 2, 2};
  Plan found = *planPlaced(problem, {where, {kAllForwards}});
  EXPECT_EQ(found.time, timeOf(problem, where, found.stages));
}

/// improve() skips cuts by leastTime(). If ranks wait only for what it counts,
/// it equals the time of the cut.
TEST(Placed, NoCutTakesLessThanItsLeastTime) {
  using stagewright::testing::kPart;
  stagewright::testing::Draw draw(23);
  int64_t cuts = 0, equal = 0;
  for (uint64_t round = 0; round < 60 / kPart + 1; ++round) {
    std::vector<double> loads;
    for (int64_t l = 0; l < 8; ++l)
      loads.push_back(draw.real(0.5, 9));
    Problem problem = chain(loads, 4, draw.whole(2, 9));
    for (Link &link : problem.cluster.links)
      link.bandwidth = Bandwidth(draw.chance(0.5) ? 1 : 1e6);
    problem.wholeBackward = draw.chance(0.5);
    Network network = *Network::create(problem.cluster);
    bool isLoop = draw.chance(0.5), isV = !isLoop && draw.chance(0.5);
    StagePlacement where = {isLoop ? Placement::Loop
                            : isV  ? Placement::V
                                   : Placement::Linear,
                            draw.whole(2, 3), isLoop || isV ? 2 : 1};
    PlacedRequest request{where, {}};
    for (const Generator &generator : allGenerators())
      if (fits(generator, where) && !generator.isSearched &&
          !(generator.splitsBackward && problem.wholeBackward))
        request.generators.push_back(generator);
    if (request.generators.empty())
      continue;
    PlacedSearch search(problem, network, request, request.generators);
    std::vector<int64_t> ends = evenCut(problem, request);
    for (int64_t move = -1; move <= 1; ++move) {
      std::vector<int64_t> moved = ends;
      moved.front() += move;
      if (moved[0] < 1 || moved[0] >= moved[1])
        continue;
      Result<std::vector<CutCost>> costs = search.costsOf(moved);
      ASSERT_TRUE(costs) << costs.error().message;
      for (const CutCost &cost : *costs) {
        Seconds least = search.leastTime(moved, cost.schedule);
        EXPECT_LE(least.value, cost.time.value * (1 + 1e-9))
            << request.generators[cost.schedule].name;
        ++cuts;
        equal += least.value > cost.time.value * (1 - 1e-6);
      }
    }
  }
  EXPECT_GT(cuts, 200 / int64_t(kPart));
  if (kPart == 1) // In a few rounds there may be none.
    EXPECT_GT(equal, cuts / 100);
}

/// The best plan found is a local optimum for moves of single layers, and in
/// this chain the best of all cuts.
TEST(Placed, SearchFindsTheBestOfAllCutsOfASmallChain) {
  Problem problem = chain({1, 5, 1, 1, 2, 1, 3}, 2, 4);
  StagePlacement where = {Placement::Loop, 2, 2};
  Plan found = *planPlaced(problem, {where, {kAllForwards}});
  double least = 1e9;
  for (int64_t a = 1; a < 7; ++a)
    for (int64_t b = a + 1; b < 7; ++b)
      for (int64_t c = b + 1; c < 7; ++c)
        least = std::min(least, timeOf(problem, where,
                                       {stageOf(0, a, {0}), stageOf(a, b, {1}),
                                        stageOf(b, c, {0}), stageOf(c, 7, {1})})
                                    .value);
  EXPECT_DOUBLE_EQ(found.time.value, least);
}

TEST(Placed, CostsOfStagesAndHops) {
  Problem problem = chain({1, 2, 3, 4}, 2, 4);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(1000);
  problem.residents.push_back({Bytes(100), ResidentKind::Parameter, {0}});
  std::vector<StagePlan> stages = {stageOf(0, 1, {0}), stageOf(1, 4, {1})};
  Network network = *Network::create(problem.cluster);
  ScheduleProblem costs =
      *scheduleProblemOf(problem, network, stages, {Placement::Linear, 2, 1});
  EXPECT_EQ(costs.stages[1].forward.value, 9);
  EXPECT_EQ(costs.stages[1].weightGradient.value, 9);
  // The slower direction: 3 bytes at 1 B/s.
  ASSERT_EQ(costs.hops.size(), 1u);
  EXPECT_EQ(costs.hops[0].value, 3);
  // A layer keeps 10 bytes from F, and with what I makes for W 14. Rank 0 has
  // 900 bytes minus two slots of 3. Rank 1 has 1000 minus two slots of 2; its
  // bytes are scaled to the memory of rank 0.
  EXPECT_EQ(costs.memory, 894);
  EXPECT_EQ(costs.stages[0].kept, 14);
  EXPECT_EQ(costs.stages[0].activation, 14);
  EXPECT_DOUBLE_EQ(costs.stages[1].kept, 42 * 894.0 / 996);
}

// Both stages are on the same two devices, which share samples.
TEST(Placed, TheSmallestSharingDeviceLimitsItsStages) {
  Problem problem = chain({1, 2}, 2, 4);
  problem.samples = 2;
  std::vector<StagePlan> stages = {stageOf(0, 1, {0, 1}),
                                   stageOf(1, 2, {0, 1})};
  for (StagePlan &stage : stages)
    stage.rows = {1, 1};
  Network network = *Network::create(problem.cluster);
  auto memoryOn = [&](int64_t first, int64_t second) {
    problem.cluster.devices[0].memory = Bytes(first);
    problem.cluster.devices[1].memory = Bytes(second);
    return scheduleProblemOf(problem, network, stages, {Placement::Loop, 1, 2})
        ->memory;
  };
  EXPECT_EQ(memoryOn(1000, 400), memoryOn(400, 400));
  EXPECT_EQ(memoryOn(400, 1000), memoryOn(400, 400));
  EXPECT_LT(memoryOn(400, 400), memoryOn(1000, 1000));
}

TEST(Placed, TwinsHaveTwoDevicesAndAnEvenNumber) {
  Problem problem = chain(std::vector<double>(6, 1), 3, 4);
  Result<Plan> odd =
      planPlaced(problem, {{Placement::Twin, 3, 1}, {kAllForwards}});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message,
            "placement twin pairs every device with its mirror image, so their "
            "number must be even, got 3");
  Result<Plan> none =
      planPlaced(problem, {{Placement::Twin, 2, 1}, {kAllForwards}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "no schedule of those asked for runs 1 chunk per device placed "
            "twin; all-forwards wants 1 or more chunks per device placed loop: "
            "partition with chunks=1 placement=loop");
}

TEST(Placed, TooFewLayersOrDevices) {
  Problem problem = chain({1, 1, 1}, 2, 4);
  Result<Plan> layers =
      planPlaced(problem, {{Placement::Loop, 2, 2}, {kAllForwards}});
  ASSERT_FALSE(layers);
  EXPECT_EQ(layers.error().message,
            "2 devices with 2 chunks each need as many layers as stages, the "
            "graph has 3; use fewer devices or chunks, or ask for fewer "
            "stages");
  Result<Plan> devices =
      planPlaced(problem, {{Placement::Loop, 3, 1}, {kAllForwards}});
  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().message,
            "the stages need 3 devices, cluster 'local' has 2; ask for fewer "
            "stages or a larger cluster");
}

TEST(Placed, MemoryIsRespectedOrTheErrorSaysByHowMuch) {
  Problem problem = chain(std::vector<double>(4, 1), 2, 4);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(64);
  Result<Plan> plan =
      planPlaced(problem, {{Placement::Loop, 2, 2}, {kAllForwards}});
  ASSERT_FALSE(plan);
  // Each of two stages has 4 microbatches of 10 bytes, 4 bytes that I makes for
  // W, of one microbatch at a time, and two slots for each message that
  // arrives, of 3 bytes for a gradient and of 2 for a value.
  EXPECT_EQ(plan.error().message,
            "no cut found that fits in memory; the best one needs 100 B on "
            "device d0, has 64 B; use more devices, fewer microbatches or a "
            "device with 36 B more");
}

// The first of two ranks holds two microbatches, and the last rank holds one:
// eight equal layers do not fit as four and four, but as three and five.
TEST(Placed, ACutThatFitsOnlyWithUnevenStagesIsFound) {
  Problem problem = chain(std::vector<double>(8, 100), 2, 4);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(80);
  PlacedFamily family;
  family.generators = {*findGenerator("1f1b")};
  Result<Plan> plan = planPlaced(problem, family);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(sizesOf(*plan), (std::vector<int64_t>{3, 5}));
}

// Layers that take equal times have unequal parameters, so that even stages do
// not fit even with one microbatch in flight.
TEST(Placed, ACutThatFitsOnlyWithParametersSpreadIsFound) {
  Problem problem = chain(std::vector<double>(8, 100), 2, 4);
  for (int64_t l = 0; l < 8; ++l)
    problem.residents.push_back(
        {Bytes(l < 4 ? 1000 : 100), ResidentKind::Constant, {l}});
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(3500);
  PlacedFamily family;
  family.generators = {*findGenerator("1f1b")};
  Result<Plan> plan = planPlaced(problem, family);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(sizesOf(*plan), (std::vector<int64_t>{3, 5}));
}

// Stashes need equally many bytes with any number of ranks, so only a pipeline
// of all devices also has room for its constants. In the order of expected
// times, more cuts than are timed come before it.
TEST(Placed, ACutThatFitsIsFoundAmongManyThatDoNot) {
  Problem problem = chain(std::vector<double>(256, 1), 64, 16);
  for (int64_t l = 0; l < 256; ++l)
    problem.residents.push_back({Bytes(25), ResidentKind::Constant, {l}});
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(830);
  PlacedFamily family;
  family.generators = {kAllForwards};
  Result<Plan> plan = planPlaced(problem, family);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->stages.size() % 64, 0u);
}

TEST(Placed, RetimedStagesHaveADeviceEach) {
  Problem problem = chain(std::vector<double>(4, 1), 2, 4);
  Plan plan;
  plan.planner = "local-search";
  plan.stages = {stageOf(0, 1, {0}), stageOf(1, 3, {1}), stageOf(3, 4, {0})};
  Status status = retime(problem, kAllForwards, plan);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "all-forwards wants a device of its own for every stage, planner "
            "'local-search' has put several on device d0; take planner "
            "balance");
  // 4 microbatches of 6 s on each device. The fill and the drain are a forward
  // of 2 s and a backward of 4 s, with hops of 2 s and 3 s.
  plan.stages = {stageOf(0, 2, {0}), stageOf(2, 4, {1})};
  ASSERT_TRUE(retime(problem, kAllForwards, plan));
  EXPECT_EQ(plan.time.value, 4 * 6 + 2 + 4 + 2 + 3);
}

TEST(Placed, PipelinesSideBySideShareMicrobatchesAndSumGradients) {
  PlacedRequest request{{Placement::Loop, 2, 2}, {kAllForwards}};
  Result<Plan> alone = planPlaced(chain({1, 1, 1, 1}, 2, 4), request);
  ASSERT_TRUE(alone.ok()) << alone.error().message;

  Problem problem = chain({1, 1, 1, 1}, 4, 8);
  for (int64_t layer = 0; layer < 4; ++layer)
    problem.residents.push_back({Bytes(6), ResidentKind::Gradient, {layer}});
  request.pipelines = 2;
  Result<Plan> both = planPlaced(problem, request);
  ASSERT_TRUE(both.ok()) << both.error().message;
  using Devices = std::vector<size_t>;
  for (int64_t s = 0; s < 4; ++s)
    EXPECT_EQ(both->stages[s].devices,
              s % 2 == 0 ? Devices({0, 1}) : Devices({2, 3}));
  // For each of its two layers a rank all-reduces 6 bytes between two devices,
  // at a byte a second; that of the second layer overlaps with the last
  // backwards of the first.
  EXPECT_DOUBLE_EQ(both->time.value, alone->time.value + 6);

  request.where = {Placement::Loop, 4, 1};
  both = planPlaced(problem, request);
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.error().message.find("the stages need 8 devices"),
            std::string::npos)
      << both.error().message;
}
