//===- ShareSearchTest.cpp - shares of replicas by real arenas ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the search with all ways to share eight samples, on up to four
// devices with one or two stages. The arena of a rank grows with its samples
// and, if stages exchange values, depends a little on the shares of the other
// stage.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/ShareSearch.h"
#include "../Random.h"
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <numeric>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr int64_t kSamples = 8;

namespace {
/// Stages of one layer each, with all their devices.
struct Instance {
  Instance(Draw &draw, const std::vector<size_t> &devicesOf);

  Arenas arenasOf(const Shares &shares) const;
  bool fits(const Shares &shares) const;
  std::vector<Shares> all() const;

  Problem problem;
  Plan plan;
  std::vector<int64_t> once, perSample; ///< By device.
};
} // namespace

Instance::Instance(Draw &draw, const std::vector<size_t> &devicesOf) {
  for (size_t count : devicesOf) {
    auto layer = int64_t(problem.layers.size());
    problem.layers.push_back({"l", {{Seconds(1), Seconds(2), Seconds()}}});
    if (layer > 0)
      problem.values.push_back({Bytes(1),
                                {layer - 1, ActionKind::Forward},
                                {{layer, ActionKind::Forward}},
                                {}});
    StagePlan &stage = plan.stages.emplace_back();
    stage.layers = {layer};
    for (size_t i = 0; i < count; ++i) {
      stage.devices.push_back(problem.cluster.devices.size());
      problem.cluster.devices.push_back(
          {"d" + std::to_string(problem.cluster.devices.size()), "c", 0,
           FlopRate(1), Bandwidth(1), Bytes()});
      once.push_back(draw.whole(1000, 4000));
      perSample.push_back(draw.whole(100, 900));
    }
    if (count > 1)
      stage.rows.assign(count, 1);
    if (count > 1)
      stage.rows[size_t(draw.whole(0, int64_t(count) - 1))] +=
          kSamples - int64_t(count);
  }
}

Arenas Instance::arenasOf(const Shares &shares) const {
  Arenas arenas(shares.size());
  for (size_t s = 0; s < shares.size(); ++s) {
    const StagePlan &stage = plan.stages[s];
    int64_t start = 0;
    for (size_t i = 0; i < stage.devices.size(); ++i) {
      int64_t own = shares[s].empty() ? kSamples : shares[s][i], more = 0;
      // A value that arrives in several parts takes more.
      for (size_t other = 0; other < shares.size(); ++other) {
        int64_t end = 0;
        for (int64_t count :
             other == s ? std::vector<int64_t>() : shares[other])
          more += (end += count) > start && end < start + own ? 64 : 0;
      }
      start += own;
      size_t device = stage.devices[i];
      arenas[s].push_back(once[device] + own * perSample[device] + more);
    }
  }
  return arenas;
}

bool Instance::fits(const Shares &shares) const {
  Arenas arenas = arenasOf(shares);
  for (size_t s = 0; s < arenas.size(); ++s)
    for (size_t i = 0; i < arenas[s].size(); ++i)
      if (arenas[s][i] >
          problem.cluster.devices[plan.stages[s].devices[i]].memory.value)
        return false;
  return true;
}

/// Adds `shares` with all ways to deal the samples from `stage` on.
static void addDeals(const Plan &plan, Shares shares,
                     std::vector<Shares> &all) {
  if (shares.size() == plan.stages.size()) {
    all.push_back(std::move(shares));
    return;
  }
  size_t replicas = plan.stages[shares.size()].rows.size();
  std::vector<int64_t> rows(replicas, 1);
  if (replicas == 0) {
    shares.push_back({});
    return addDeals(plan, std::move(shares), all);
  }
  for (;;) { // Counts up `rows`, a number with `replicas` digits.
    if (std::accumulate(rows.begin(), rows.end(), int64_t(0)) == kSamples) {
      Shares more = shares;
      more.push_back(rows);
      addDeals(plan, std::move(more), all);
    }
    size_t digit = 0;
    while (digit < replicas && rows[digit] == kSamples)
      rows[digit++] = 1;
    if (digit == replicas)
      return;
    ++rows[digit];
  }
}

std::vector<Shares> Instance::all() const {
  std::vector<Shares> found;
  addDeals(plan, {}, found);
  return found;
}

TEST(ShareSearch, FindsSharesIfAndOnlyIfSomeFit) {
  int64_t found = 0, refused = 0, lowered = 0, most = 0;
  for (uint64_t number = 0; number < 400; ++number) {
    SCOPED_TRACE(number);
    Draw draw(number);
    std::vector<std::vector<size_t>> shapes = {{2},    {3},    {4},
                                               {3, 1}, {2, 1}, {2, 2}};
    Instance instance(draw, shapes[number % shapes.size()]);
    std::vector<Shares> all = instance.all();
    // Each device has 300 bytes more than one of these ways needs, or one byte
    // less than that.
    for (size_t s = 0; s < instance.plan.stages.size(); ++s)
      for (size_t i = 0; i < instance.plan.stages[s].devices.size(); ++i) {
        const Shares &shares =
            all[size_t(draw.whole(0, int64_t(all.size()) - 1))];
        instance.problem.cluster.devices[instance.plan.stages[s].devices[i]]
            .memory =
            Bytes(instance.arenasOf(shares)[s][i] + 300 - draw.whole(0, 1));
      }
    bool fits = std::any_of(all.begin(), all.end(), [&](const Shares &shares) {
      return instance.fits(shares);
    });
    int64_t trials = 0;
    std::vector<bool> stated;
    for (const StagePlan &stage : instance.plan.stages)
      stated.push_back(stage.rows.empty());
    ShareSearch search(instance.problem, instance.plan, stated,
                       [&](const Shares &shares) {
                         ++trials;
                         return instance.arenasOf(shares);
                       });
    std::optional<Shares> shares = search.run();
    EXPECT_EQ(shares.has_value(), fits);
    if (shares)
      EXPECT_TRUE(instance.fits(*shares));
    else
      EXPECT_NE(search.error().find(" on device d"), std::string::npos);
    ++(shares ? found : refused);
    lowered += trials;
    most = std::max(most, trials);
  }
  std::printf("%lld found, %lld refused, %lld lowered, at most %lld each\n",
              (long long)found, (long long)refused, (long long)lowered,
              (long long)most);
  EXPECT_GT(found, 50);
  EXPECT_GT(refused, 50);
}

/// Two replicas that share eight samples of 100 bytes.
static Instance twoReplicas() {
  Draw draw(1);
  Instance instance(draw, {2});
  instance.plan.stages[0].rows = {4, 4};
  instance.once = {1000, 1000};
  instance.perSample = {100, 100};
  return instance;
}

TEST(ShareSearch, LeavesStatedSharesAndNamesTheBytes) {
  Instance instance = twoReplicas();
  instance.problem.cluster.devices[0].memory = Bytes(2000);
  instance.problem.cluster.devices[1].memory = Bytes(1336);
  auto lower = [&](const Shares &shares) { return instance.arenasOf(shares); };
  ShareSearch stated(instance.problem, instance.plan, {true}, lower);
  EXPECT_FALSE(stated.run());
  EXPECT_EQ(stated.error(),
            "stage 0 needs 1.4 KiB on device d1, has 1.3 KiB; use more stages, "
            "fewer microbatches or a device with 64 B more");
  ShareSearch free(instance.problem, instance.plan, {false}, lower);
  EXPECT_EQ(free.run(), (Shares{{5, 3}}));
}

TEST(ShareSearch, SaysThatOtherSharesNeedMoreIfAllOfTheStageWereLowered) {
  Instance instance = twoReplicas();
  for (Device &device : instance.problem.cluster.devices)
    device.memory = Bytes(1336);
  auto hasOthers = [&](ShareSearch search) {
    EXPECT_FALSE(search.run());
    return search.error().find("other shares") != std::string::npos;
  };
  auto lower = [&](const Shares &shares) { return instance.arenasOf(shares); };
  EXPECT_TRUE(hasOthers({instance.problem, instance.plan, {false}, lower}));
  EXPECT_FALSE(hasOthers({instance.problem, instance.plan, {true}, lower}));
  instance.problem.cluster.devices[0].memory = Bytes(2000); // For 5 + 3.
  auto onlyFirst = [&](const Shares &shares) -> std::optional<Arenas> {
    if (shares == Shares{{4, 4}})
      return instance.arenasOf(shares);
    return std::nullopt;
  };
  EXPECT_FALSE(
      hasOthers({instance.problem, instance.plan, {false}, onlyFirst}));
}

TEST(ShareSearch, DoesNotSpeakOfOtherSharesOfAStageWithoutReplicas) {
  Draw draw(1);
  Instance instance(draw, {2, 1});
  for (Device &device : instance.problem.cluster.devices)
    device.memory = Bytes(1 << 30);
  instance.problem.cluster.devices[instance.plan.stages[1].devices[0]].memory =
      Bytes(64);
  ShareSearch search(
      instance.problem, instance.plan, {false, true},
      [&](const Shares &shares) { return instance.arenasOf(shares); });
  EXPECT_FALSE(search.run());
  EXPECT_EQ(search.error().find("stage 1 needs"), 0u) << search.error();
  EXPECT_EQ(search.error().find("other shares"), std::string::npos);
}
