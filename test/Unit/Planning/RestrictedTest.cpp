//===- RestrictedTest.cpp - the free search against restricted ones -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search with a restriction (a fixed number of stages, fewer replicas, one
// order, no recomputation) must not find a faster plan than the free search.
// Memory is 1.05 times the least with any plan, which reveals searches that
// prune too early. STAGEWRIGHT_EFFORT=1 tries 500 random instances and all
// published ones instead of some.
//
//===----------------------------------------------------------------------===//

#include "PrototypeRows.h"
#include "RandomInstances.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/Planners.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr uint64_t kSeed = 17;
/// The max time of the free plan over that of a restricted one.
static constexpr double kWorse = 1.005;

static bool isThorough() { return std::getenv("STAGEWRIGHT_EFFORT"); }

static void setMemory(Problem &problem, double bytes) {
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(int64_t(std::ceil(bytes)));
}

/// The least memory per device with which spp finds a plan, within 1 %.
static double leastMemory(Problem problem) {
  double low = 1, high = double(mostMemory(problem).value) + 1;
  while (high / low > 1.01) {
    double middle = std::sqrt(low * high);
    setMemory(problem, middle);
    (runPlanner(*findPlanner("spp"), problem) ? high : low) = middle;
  }
  return high;
}

/// Layers that keep what they send and a value of their own, which some layers
/// can recompute.
static Problem randomProblem(uint64_t instance) {
  Draw draw(kSeed * 1000 + instance);
  Problem problem;
  problem.cluster = randomCluster(draw, size_t(draw.whole(2, 5)), 0.5, 8);
  problem.microbatches = draw.whole(1, 24);
  problem.samples = draw.chance(0.3) ? 1 : 0;
  addRandomLayers(problem, draw, draw.whole(2, 8), 4, 8);
  for (int64_t l = 0; l < int64_t(problem.layers.size()); ++l) {
    Layer &layer = problem.layers[l];
    uint32_t levels = ~0u;
    if (draw.chance(0.7)) {
      Seconds again = layer.times[0].forward * draw.real(0.05, 0.9);
      layer.levels = {
          {std::vector<Seconds>(layer.times.size(), again), {}, {}}};
      levels = 1;
    }
    problem.values.push_back({Bytes(int64_t(kUnit * draw.real(0, 6))),
                              {l, ActionKind::Forward},
                              {{l, ActionKind::InputGradient, levels}}});
  }
  problem.model.overlapAllReduce = instance % 2;
  return problem;
}

namespace {
/// Compares the free search with restricted ones.
class Restrictions {
public:
  /// Compares them on `problem`, with reduced memory.
  void compare(const std::string &name, Problem problem) {
    setMemory(problem, 1.05 * leastMemory(problem));
    Result<Plan> free = runPlanner(*findPlanner("spp"), problem);
    ASSERT_TRUE(free.ok()) << name << ": " << free.error().message;
    auto restricted = [&](const std::string &how, const Problem &asked) {
      Result<Plan> plan = runPlanner(*findPlanner("spp"), asked);
      if (!plan)
        return;
      double ratio = free->time.value / plan->time.value;
      worst = std::max(worst, ratio);
      worse += ratio > kWorse;
      ++count;
      EXPECT_LE(ratio, kWorse)
          << name << " with " << how << ": " << plan->time.value << " s in "
          << toString(plan->order) << " order, free " << free->time.value
          << " s in " << toString(free->order) << " order";
    };
    auto devices = int64_t(problem.cluster.devices.size());
    auto layers = int64_t(problem.layers.size());
    for (int64_t stages = 1; stages <= std::min(devices, layers); ++stages) {
      Problem asked = problem;
      asked.stages = stages;
      restricted("stages=" + std::to_string(stages), asked);
    }
    for (int64_t replicas = 1; replicas <= devices; replicas *= 2) {
      Problem asked = problem;
      asked.maxReplicas = replicas;
      restricted("max-replicas=" + std::to_string(replicas), asked);
    }
    for (ExecutionOrder order : problem.orders) {
      Problem asked = problem;
      asked.orders = {order};
      restricted(std::string("order ") + toString(order), asked);
    }
    Problem asked = problem;
    asked.recompute = false;
    restricted("nothing computed again", asked);
  }

  void print(const char *what) const {
    std::printf("%s: %zu restrictions, worst ratio %.5f, %zu above %.3f\n",
                what, count, worst, worse, kWorse);
  }

private:
  double worst = 0;
  size_t count = 0, worse = 0;
};
} // namespace

TEST(Restricted, RandomInstancesAreNeverFasterUnderARestriction) {
  Restrictions restrictions;
  uint64_t instances = isThorough() ? 500 : 60 / kPart;
  for (uint64_t i = 0; i < instances; ++i)
    restrictions.compare("instance " + std::to_string(i), randomProblem(i));
  restrictions.print("random instances");
}

TEST(Restricted, PublishedChainsAreNeverFasterUnderARestriction) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  Restrictions restrictions;
  std::vector<PrototypeRow> rows = prototypeRows();
  for (size_t i = 0; i < rows.size(); i += isThorough() ? 1 : 30)
    restrictions.compare(rows[i].model + " on " + rows[i].config,
                         prototypeProblem(rows[i]));
  restrictions.print("published chains");
}

namespace {
/// A file of the shared data, and its format.
struct File {
  const char *path, *format;
};
} // namespace

TEST(Restricted, PublishedProfilesAreNeverFasterUnderARestriction) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  Restrictions restrictions;
  size_t number = 0;
  auto isLeftOut = [&] { return !isThorough() && number++ % 8 != 7; };
  for (auto [path, format] : {File{"hpgo/amoebanet_36.txt", "pipedream"},
                              {"hpgo/bert_48.txt", "pipedream"},
                              {"hpgo/gnmt_16.txt", "pipedream"},
                              {"hpgo/vgg19.txt", "pipedream"},
                              {"hpgo/xlnet_36.txt", "pipedream"},
                              {"pipedream/alexnet.txt", "pipedream"},
                              {"pipedream/gnmt.txt", "pipedream"},
                              {"pipedream/resnet50.txt", "pipedream"},
                              {"pipedream/vgg16.txt", "pipedream"},
                              {"piper/bert32a100.json", "piper"},
                              {"piper/resnet.json", "piper"}}) {
    if (isLeftOut())
      continue;
    Problem problem = sharedProfile(path, format);
    problem.microbatches = 16;
    ASSERT_TRUE(placeOn(problem, hostsOf({4, 4}, 25e9, 3.125e9))) << path;
    restrictions.compare(path, problem);
  }
  // These have their own devices.
  for (const char *path :
       {"layers/bert24_inference", "layers/bert24_training",
        "layers/gnmt_inference", "layers/gnmt_training",
        "operators/bert_l-3_inference", "operators/bert_l-3_training",
        "operators/resnet50_inference"})
    if (!isLeftOut())
      restrictions.compare(
          path, sharedProfile("dnn-partitioning/" + std::string(path) + ".json",
                              "dnn-partitioning"));
  restrictions.print("published profiles");
}

TEST(SearchedOrder, IsFasterInTheSameMemory) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  size_t instances = isThorough() ? 200 : 40, tried = 0, faster = 0;
  double most = 0, sum = 0;
  for (uint64_t i = 0; i < instances; ++i) {
    Problem problem = randomProblem(i);
    setMemory(problem, 1.3 * leastMemory(problem));
    PlacedFamily family;
    for (const Generator &generator : allGenerators())
      if (generator.placement != Placement::Twin)
        family.generators.push_back(generator);
    Result<Plan> plan = planPlaced(problem, family);
    if (!plan)
      continue;
    ++tried;
    Plan searched = withSearchedOrder(problem, *plan);
    if (searched.schedule == plan->schedule)
      continue;
    ++faster;
    EXPECT_TRUE(findGenerator(searched.schedule)->isSearched);
    EXPECT_LT(searched.time, plan->time) << i;
    EXPECT_GE(searched.time, searched.planBound) << i;
    EXPECT_LE(searched.familyBound, plan->familyBound) << i;
    EXPECT_TRUE(verifyPlaced(problem, searched)) << i;
    double saved = 1 - searched.time.value / plan->time.value;
    sum += saved;
    most = std::max(most, saved);
  }
  std::printf("searched orders: %zu of %zu plans faster, by %.3f in the mean "
              "and %.3f at most\n",
              faster, tried, faster > 0 ? sum / double(faster) : 0, most);
  EXPECT_GT(faster, 0u);
}
