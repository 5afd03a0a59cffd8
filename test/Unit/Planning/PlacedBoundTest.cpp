//===- PlacedBoundTest.cpp - lower bound for equal pipelines --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the bound with all cuts of small random chains, for every number of
// ranks and chunks and every order.
//
//===----------------------------------------------------------------------===//

#include "RandomInstances.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Placed.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace stagewright;
using namespace stagewright::testing;

/// Calls `visit` with each way to cut `layers` layers into `stages` parts.
static void forEachCut(int64_t layers, int64_t stages,
                       const std::function<void(std::vector<int64_t>)> &visit,
                       std::vector<int64_t> ends = {}) {
  int64_t first = ends.empty() ? 0 : ends.back();
  if (int64_t(ends.size()) + 1 == stages) {
    ends.push_back(layers);
    return visit(ends);
  }
  for (int64_t end = first + 1;
       end <= layers - (stages - int64_t(ends.size()) - 1); ++end) {
    std::vector<int64_t> more = ends;
    more.push_back(end);
    forEachCut(layers, stages, visit, more);
  }
}

namespace {
/// All plans of one problem with one shape, compared with the bound.
class Plans {
public:
  Plans(const Problem &problem, const Network &network, PipelineShape shape,
        bool splits)
      : problem(problem), network(network), shape(shape),
        bound(placedLowerBound(problem, network, {shape}, splits).value) {
    for (const Generator &generator : allGenerators())
      for (int64_t chunks = 1; chunks <= int64_t(problem.layers.size());
           ++chunks)
        for (int64_t spare = 0; spare < shape.ranks; ++spare)
          if (generator.placement != Placement::Twin &&
              (splits || !generator.splitsBackward))
            tryChunks(generator, chunks, spare);
  }

  const Problem &problem;
  const Network &network;
  PipelineShape shape;
  double bound, best = std::numeric_limits<double>::infinity();
  int64_t count = 0;

private:
  void tryChunks(const Generator &generator, int64_t chunks, int64_t spare);
  void tryLevels(const Generator &generator, Plan plan);
};
} // namespace

void Plans::tryChunks(const Generator &generator, int64_t chunks,
                      int64_t spare) {
  StagePlacement where{chunks == 1 ? Placement::Linear : generator.placement,
                       shape.ranks, chunks, spare};
  auto layers = int64_t(problem.layers.size());
  if (!fits(generator, where) || where.numStages() > layers ||
      (spare > 0 && chunks == 1))
    return;
  forEachCut(layers, where.numStages(), [&](std::vector<int64_t> ends) {
    Plan plan;
    for (size_t s = 0; s < ends.size(); ++s) {
      int64_t rank = rankOf(where.placement, shape.ranks, chunks, int64_t(s));
      std::vector<size_t> devices;
      for (int64_t k = 0; k < shape.pipelines; ++k)
        devices.push_back(size_t(rank * shape.pipelines + k));
      plan.stages.push_back(
          stageOf(s == 0 ? 0 : ends[s - 1], ends[s], devices));
    }
    tryLevels(generator, plan);
  });
}

/// Recomputes in no layer, in all layers, or in every other one.
void Plans::tryLevels(const Generator &generator, Plan plan) {
  bool hasLevels = problem.mostLevels() > 0;
  for (int64_t of = 0; of < (hasLevels ? 4 : 1); ++of) {
    for (StagePlan &stage : plan.stages) {
      stage.levels.clear();
      for (int64_t layer : stage.layers)
        if (hasLevels)
          stage.levels.push_back(std::min(
              of == 0 || (of > 1 && (layer + of) % 2 == 0) ? int64_t(0)
                                                           : int64_t(1),
              int64_t(problem.layers[layer].levels.size())));
    }
    Plan timed = plan;
    if (!evaluatePlaced(problem, network, generator, timed))
      continue;
    ++count;
    best = std::min(best, timed.time.value);
    EXPECT_LE(bound, timed.time.value * (1 + 1e-9))
        << shape.ranks << " ranks, " << generator.name;
  }
}

/// Two to six layers with split backwards, on four devices.
static Problem drawProblem(Draw &draw) {
  Problem problem;
  problem.cluster = randomCluster(draw, 4, 1e3, 1e3);
  problem.microbatches = draw.whole(4, 9);
  problem.model.overlapAllReduce = draw.chance(0.5);
  addRandomLayers(problem, draw, draw.whole(2, 6), 1,
                  draw.chance(0.5) ? 2000 : 0);
  problem.samples = 1;
  // A parameter that no layer uses.
  problem.residents.push_back({Bytes(8), ResidentKind::Parameter, {}});
  for (Layer &layer : problem.layers) {
    StageTimes &times = layer.times[0];
    times.weightGradient = times.inputGradient * draw.real(0, 0.6);
    times.inputGradient -= times.weightGradient;
  }
  return problem;
}

/// Each layer keeps bytes for its backward in proportion to its forward, within
/// 10 %, as a model's blocks do; most layers can recompute these in part of
/// that time. Devices have room for 0.3 to 1.2 microbatches and hold nothing
/// else.
static void cutMemory(Problem &problem, Draw &draw) {
  double kept = 0, again = draw.real(0.05, 1);
  problem.residents.clear();
  for (int64_t l = 0; l < int64_t(problem.layers.size()); ++l) {
    Layer &layer = problem.layers[l];
    bool mayRise = draw.chance(0.7);
    Seconds forward = layer.times[0].forward;
    if (mayRise)
      layer.levels = {{{forward * (again * draw.real(0.9, 1))}, {}, {}}};
    problem.values.push_back(
        {Bytes(int64_t(kUnit * forward.value * draw.real(90, 110))),
         {l, ActionKind::Forward},
         {{l, ActionKind::InputGradient, mayRise ? 1u : ~0u}}});
    kept += double(problem.values.back().bytes.value);
  }
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(int64_t(draw.real(0.3, 1.2) * kept));
}

namespace {
/// Totals over all problems.
struct Counts {
  int64_t plans = 0, shapes = 0, sharper = 0;
  double nearest = std::numeric_limits<double>::infinity();

  void add(const Plans &tried, double other) {
    plans += tried.count;
    if (tried.count == 0)
      return;
    ++shapes;
    sharper += tried.bound > other * (1 + 1e-9);
    nearest = std::min(nearest, tried.best / tried.bound);
  }
};
} // namespace

/// Calls `visit` with every shape of `problem` on its four devices.
static void
forEachShape(const Problem &problem,
             const std::function<void(PipelineShape, bool)> &visit) {
  for (int64_t ranks : {1, 2, 3, 4})
    for (bool splits : {false, true})
      if (ranks <= int64_t(problem.layers.size()))
        visit({ranks, 4 / ranks}, splits);
}

TEST(PlacedBound, NoCutAndNoOrderIsFaster) {
  Counts counts;
  for (uint64_t seed = 0; seed < 40 / kPart; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    Problem problem = drawProblem(draw);
    Network network = *Network::create(problem.cluster);
    double work = workLowerBound(problem).value;
    forEachShape(problem, [&](PipelineShape shape, bool splits) {
      Plans plans(problem, network, shape, splits);
      EXPECT_GE(plans.bound, work);
      counts.add(plans, work);
    });
  }
  EXPECT_GT(counts.plans, 1000 / int64_t(kPart));
  EXPECT_GT(counts.sharper, counts.shapes / 2);
  EXPECT_LT(counts.nearest, 1.01);
}

/// The same if memory is short; there the bound is often greater than with
/// enough memory.
TEST(PlacedBound, NoLevelsAreFasterInLittleMemory) {
  Counts counts;
  for (uint64_t seed = 0; seed < 40 / kPart; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(1000 + seed);
    Problem problem = drawProblem(draw);
    cutMemory(problem, draw);
    Problem roomy = problem;
    for (Device &device : roomy.cluster.devices)
      device.memory = mostMemory(problem) + mostMemory(problem);
    Network network = *Network::create(problem.cluster);
    forEachShape(problem, [&](PipelineShape shape, bool splits) {
      counts.add(Plans(problem, network, shape, splits),
                 placedLowerBound(roomy, network, {shape}, splits).value);
    });
  }
  EXPECT_GT(counts.plans, 1000 / int64_t(kPart));
  EXPECT_LT(counts.nearest, 1.1);
  if (kPart == 1) // Few seeds may draw enough memory.
    EXPECT_GT(counts.sharper, counts.shapes / 8);
}

TEST(PlacedBound, ShapesAreBelowALimitAboveTheirBound) {
  for (uint64_t seed = 0; seed < 40 / kPart; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(2000 + seed);
    Problem problem = drawProblem(draw);
    Network network = *Network::create(problem.cluster);
    std::vector<PipelineShape> shapes;
    std::vector<double> bounds;
    forEachShape(problem, [&](PipelineShape shape, bool splits) {
      if (splits)
        return;
      shapes.push_back(shape);
      bounds.push_back(
          placedLowerBound(problem, network, {shape}, splits).value);
    });
    for (double bound : bounds) {
      for (double limit : {bound * 0.999, bound * 1.001}) {
        auto below = size_t(std::count_if(bounds.begin(), bounds.end(),
                                          [&](double b) { return b < limit; }));
        EXPECT_EQ(
            shapesBelow(problem, network, shapes, false, Seconds(limit)).size(),
            below);
      }
    }
  }
}

/// The schedules of `placement`, loops with two chunks on each device: at most
/// four shapes of pipelines, all of which the planner evaluates.
static PlacedFamily familyOf(Placement placement) {
  PlacedFamily family;
  for (const Generator &generator : allGenerators())
    if (generator.placement == placement)
      family.generators.push_back(generator);
  family.chunks = placement == Placement::Loop ? 2 : 1;
  return family;
}

/// Calls `visit` with problems and families; in every other one memory is
/// short.
static void forEachFamily(
    const std::function<void(const Problem &, const PlacedFamily &)> &visit) {
  for (uint64_t seed = 0; seed < 40 / kPart; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(3000 + seed);
    Problem problem = drawProblem(draw);
    if (seed % 2 == 1)
      cutMemory(problem, draw);
    for (Placement placement : {Placement::Linear, Placement::Loop})
      visit(problem, familyOf(placement));
  }
}

/// Under a limit, shapes that cannot be faster are left out. With a limit above
/// the time of the best plan, a plan is found that is no slower: others may be
/// improved in the place of those that are left out.
TEST(PlacedBound, APlanBelowALimitIsNoSlowerThanWithoutIt) {
  int64_t none = 0, some = 0;
  forEachFamily([&](const Problem &problem, const PlacedFamily &family) {
    Result<Plan> best = planPlaced(problem, family);
    if (!best)
      return;
    double bound = placedFamilyBound(problem, family)->value;
    for (double factor : {0.5, 0.9, 1.001}) {
      Seconds limit = best->time * factor;
      Result<std::optional<Plan>> plan =
          planPlacedBelow(problem, family, limit);
      ASSERT_TRUE(plan) << plan.error().message;
      ++(*plan ? some : none);
      if (factor > 1) {
        ASSERT_TRUE(*plan);
        EXPECT_LE((*plan)->time, best->time);
      }
      if (*plan && !((*plan)->time < limit)) // None is left out.
        EXPECT_EQ((*plan)->time, best->time);
      if (*plan)
        EXPECT_NEAR((*plan)->familyBound.value, bound, 1e-9 * bound);
    }
  });
  EXPECT_GT(none, 0);
  EXPECT_GT(some, 0);
}

TEST(PlacedBound, FamiliesThatFailHaveTheSameErrorBelowALimit) {
  int64_t lacking = 0;
  forEachFamily([&](const Problem &problem, const PlacedFamily &family) {
    Problem small = problem;
    for (Device &device : small.cluster.devices)
      device.memory = Bytes(1);
    for (const Problem *one :
         std::initializer_list<const Problem *>{&problem, &small}) {
      Result<Plan> best = planPlaced(*one, family);
      double bound = placedFamilyBound(*one, family)->value;
      if (best) {
        EXPECT_LE(bound, best->time.value * (1 + 1e-9));
        continue;
      }
      Result<std::optional<Plan>> plan =
          planPlacedBelow(*one, family, Seconds(1e-9));
      if (std::isfinite(bound)) {
        EXPECT_TRUE(plan && !*plan); // Some shapes are left out.
      } else {
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().message, best.error().message);
        ++lacking;
      }
    }
  });
  EXPECT_GT(lacking, 0);
}
