//===- AveragingTest.cpp - delayed averages on threads --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Averaging.h"
#include "Threads/ThreadTransport.h"

#include <gtest/gtest.h>

#include <thread>

using namespace stagewright::runtime;

namespace {

/// Replicas with one parameter, whose update subtracts a given number.
class Replicas {
public:
  static constexpr int64_t elements = 5;

  Replicas(int64_t ranks, int64_t every, int64_t delay, double xi,
           bool corrected) {
    manifest.ranks.resize(size_t(ranks));
    Collective sum{"average", SW_F64, 8, {}, true};
    for (int64_t r = 0; r < ranks; ++r) {
      sum.buckets.push_back({r, 2, 1});
      RankManifest &rank = manifest.ranks[size_t(r)];
      for (int64_t bytes :
           {elements * 8, int64_t(8), int64_t(64), int64_t(64)}) {
        Buffer buffer;
        buffer.kind = BufferKind::State;
        buffer.bytes = bytes;
        rank.buffers.push_back(buffer);
      }
      Averaging rule;
      rule.dtype = SW_F64;
      rule.every = every, rule.delay = delay;
      rule.xi = xi, rule.corrected = corrected;
      rule.weight = 1 / double(ranks);
      rule.step = 1, rule.sum = 2;
      rule.snapshot = corrected && delay > 0 ? 3 : -1;
      rule.parameters = {0};
      rank.averages.push_back(rule);
    }
    manifest.collectives.push_back(sum);
    std::vector<std::byte *> bases;
    for (int64_t r = 0; r < ranks; ++r) {
      layouts.push_back(layOut(manifest, r, 1));
      memory.emplace_back(size_t(layouts.back().total));
      bases.push_back(memory.back().data());
    }
    transport = std::make_unique<ThreadTransport>(manifest, layouts, bases, 1,
                                                  /*poison=*/false, 1000);
    handles.resize(size_t(ranks));
    for (int64_t r = 0; r < ranks; ++r) {
      sw_rank &it = handles[size_t(r)];
      it.described = &manifest.ranks[size_t(r)];
      it.index = r;
      it.microbatches = 1;
      it.layout = &layouts[size_t(r)];
      it.arena = memory[size_t(r)].data();
      it.transport = transport.get();
    }
  }

  double *parameter(size_t rank) {
    return reinterpret_cast<double *>(memory[rank].data() +
                                      layouts[rank].buffers[0].offset);
  }
  HostArenas arenas() {
    HostArenas view = {manifest, layouts, {}, 1};
    for (std::vector<std::byte> &arena : memory)
      view.bases.push_back(arena.data());
    return view;
  }

  /// One step, in which the update of rank r subtracts `change(r)`.
  template <typename Change> void step(Change change) {
    transport->reset();
    std::vector<std::thread> threads;
    for (size_t r = 0; r < handles.size(); ++r)
      threads.emplace_back([&, r] {
        for (int64_t i = 0; i < elements; ++i)
          parameter(r)[i] -= change(r);
        average(handles[r], 0);
        transport->finish(int64_t(r));
      });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_EQ(transport->result(), "");
  }

  Manifest manifest;
  std::vector<Layout> layouts;
  std::vector<std::vector<std::byte>> memory;
  std::unique_ptr<ThreadTransport> transport;
  std::vector<sw_rank> handles;
};

struct Rule {
  int64_t every, delay;
  double xi;
};
constexpr Rule rules[] = {{4, 1, .25}, {4, 2, .25}, {8, 2, .5}, {4, 4, .25}};

/// With a constant gradient g the mean after R rounds is x0 - g (R every - (R -
/// 1) (1 - xi) delay): each merge loses (1 - xi) delay steps, but a corrected
/// merge loses none.
TEST(Averaging, AConstantGradientGivesTheClosedForm) {
  for (auto [every, delay, xi] : rules)
    for (bool corrected : {false, true}) {
      Replicas replicas(4, every, delay, xi, corrected);
      constexpr int64_t rounds = 5;
      for (int64_t t = 0; t < rounds * every; ++t)
        replicas.step([](size_t) { return 0.5; });
      double steps = double(rounds * every) -
                     (corrected ? 0 : (rounds - 1) * (1 - xi) * double(delay));
      for (size_t r = 0; r < 4; ++r)
        EXPECT_NEAR(replicas.parameter(r)[2], -0.5 * steps, 1e-12);
    }
}

/// Compares with the rule applied to one number for each replica.
TEST(Averaging, ReplicasWithGradientsOfTheirOwnFollowTheRule) {
  for (auto [every, delay, xi] : rules)
    for (bool corrected : {false, true}) {
      Replicas replicas(3, every, delay, xi, corrected);
      double x[3] = {}, taken[3] = {}, mean = 0;
      for (int64_t t = 1; t <= 3 * every + delay; ++t) {
        auto change = [t](size_t r) { return double(r + 1) / double(t); };
        replicas.step(change);
        for (size_t r = 0; r < 3; ++r)
          x[r] -= change(r);
        if (t > every && (t - delay) % every == 0)
          for (size_t r = 0; r < 3; ++r)
            x[r] = corrected ? x[r] + mean - taken[r]
                             : xi * x[r] + (1 - xi) * mean;
        if (t % every == 0) {
          mean = (x[0] + x[1] + x[2]) / 3;
          std::copy_n(x, 3, taken);
        }
        for (size_t r = 0; r < 3; ++r)
          EXPECT_NEAR(replicas.parameter(r)[4], x[r], 1e-12);
      }
    }
}

TEST(Averaging, WithoutDelayReplicasAreEqualAfterARound) {
  for (bool corrected : {false, true}) {
    Replicas replicas(3, 2, 0, 0, corrected);
    for (int t = 0; t < 4; ++t)
      replicas.step([](size_t r) { return double(r); });
    for (size_t r = 0; r < 3; ++r)
      EXPECT_NEAR(replicas.parameter(r)[0], -4, 1e-12);
  }
}

/// restartRounds() drops an average that has begun.
TEST(Averaging, ANewRoundBeginsWithoutAnAverage) {
  Replicas replicas(2, 2, 1, .25, /*corrected=*/false);
  for (int t = 0; t < 2; ++t)
    replicas.step([](size_t r) { return double(r); });
  replicas.transport->settle();
  restartRounds(replicas.arenas());
  replicas.step([](size_t r) { return double(r); });
  EXPECT_EQ(replicas.parameter(1)[0], -3);
}

TEST(Averaging, ReplicasInTurnNeedAMicrobatchEach) {
  Replicas replicas(2, 2, 1, .25, false);
  replicas.manifest.ranks[1].averages[0].turns = 2;
  EXPECT_NO_THROW(requireTurns(replicas.manifest, 2));
  EXPECT_ANY_THROW(requireTurns(replicas.manifest, 1));
}

/// A replica may go on until it merges an average that another has not begun.
TEST(Averaging, BoundsHowFarReplicasAreApart) {
  Manifest manifest;
  manifest.ranks.resize(3);
  EXPECT_EQ(maxStepsBehind(manifest), 0);
  auto add = [&](size_t rank, int64_t every, int64_t delay) {
    Averaging rule;
    rule.every = every;
    rule.delay = delay;
    manifest.ranks[rank].averages.push_back(rule);
  };
  add(0, 1, 0);
  EXPECT_EQ(maxStepsBehind(manifest), 0);
  add(2, 4, 2);
  add(2, 2, 2);
  EXPECT_EQ(maxStepsBehind(manifest), 5);
}

} // namespace
