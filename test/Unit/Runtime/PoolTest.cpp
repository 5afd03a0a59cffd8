//===- PoolTest.cpp - the threads of a rank -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults/Guarded.h"
#include "Products/Blas.h"
#include "Products/ParallelGemm.h"
#include "Team.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

using namespace stagewright::runtime;

namespace {

TEST(Pool, EveryIterationRunsOnceInWholeGrains) {
  for (int64_t threads : {2, 3, 5}) {
    Team team(threads);
    for (int64_t extent : {1, 7, 64, 1000})
      for (int64_t grain : {1, 3, 64}) {
        std::vector<int> seen(extent);
        int64_t numbers[] = {grain, extent};
        void *given[] = {seen.data(), numbers, &team.rank};
        team.pool->run(
            team.rank,
            [](void **given, int64_t lower, int64_t upper) {
              auto *numbers = static_cast<int64_t *>(given[1]);
              guarded(static_cast<sw_rank *>(given[2]), [&] {
                if (lower % numbers[0] != 0 ||
                    (upper % numbers[0] != 0 && upper != numbers[1]))
                  raise("a part of ", lower, " to ", upper);
              });
              for (int64_t i = lower; i < upper; ++i)
                ++static_cast<int *>(given[0])[i];
            },
            given, extent, grain);
        EXPECT_EQ(team.transport->result(), "");
        EXPECT_EQ(seen, std::vector<int>(extent, 1));
      }
  }
}

TEST(Pool, EachThreadTakesItsTurn) {
  static std::mutex mutex;
  static std::set<std::thread::id> threads;
  for (int64_t count : {2, 4}) {
    Team team(count);
    threads.clear();
    team.pool->onEach(team.rank, [] {
      std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(int64_t(threads.size()), count);
    EXPECT_EQ(threads.count(std::this_thread::get_id()), 1u);
  }
}

TEST(Pool, AFailureEndsItsPartOnly) {
  for (int64_t threads : {2, 3}) {
    Team team(threads);
    for (int round = 0; round < 50; ++round) {
      std::vector<int> seen(16);
      void *given[] = {seen.data(), &team.rank};
      team.pool->run(
          team.rank,
          [](void **given, int64_t lower, int64_t upper) {
            for (int64_t i = lower; i < upper; ++i) {
              if (i == 5)
                guarded(static_cast<sw_rank *>(given[1]),
                        [] { raise("number 5"); });
              ++static_cast<int *>(given[0])[i];
            }
          },
          given, 16, 1);
      EXPECT_EQ(team.transport->result(), "rank 0: number 5");
      EXPECT_EQ(seen[0], 1);
      EXPECT_EQ(seen[5], 0);
      EXPECT_EQ(seen[15], 1);
      EXPECT_EQ(threadContext().frame, nullptr);
      team.transport->reset();
    }
  }
}

/// Shapes from language models, transposed as in forward and backward, and
/// shapes that no tile divides.
TEST(ParallelGemm, ThreadsDoNotChangeABit) {
  requireBlas();
  struct Shape {
    int64_t m, n, k, batches;
  };
  Team one(1);
  for (Shape s : {Shape{512, 768, 256, 1}, Shape{256, 1024, 512, 1},
                  Shape{1024, 256, 512, 1}, Shape{333, 517, 700, 1},
                  Shape{130, 1000, 65, 1}, Shape{128, 128, 64, 16},
                  Shape{128, 64, 128, 3}, Shape{200, 136, 400, 3}}) {
    auto a = randomNumbers<float>(s.batches * s.m * s.k, 1),
         b = randomNumbers<float>(s.batches * s.k * s.n, 2),
         start = randomNumbers<float>(s.batches * s.m * s.n, 3);
    for (int flags = 0; flags < 16; ++flags) {
      bool ta = flags & 1, tb = flags & 2, tc = flags & 4;
      sw_gemm_desc d = {SW_F32,
                        (flags & 8) != 0,
                        s.m,
                        s.n,
                        s.k,
                        {1, s.batches},
                        ta ? 1 : s.k,
                        ta ? s.m : 1,
                        tb ? 1 : s.n,
                        tb ? s.k : 1,
                        tc ? 1 : s.n,
                        tc ? s.m : 1,
                        {0, s.m * s.k},
                        {0, s.k * s.n},
                        {0, s.m * s.n}};
      std::vector<float> expected = start;
      parallelGemm(one.rank, d, a.data(), b.data(), expected.data());
      for (int64_t threads : {2, 3}) {
        Team team(threads);
        std::vector<float> c = start;
        parallelGemm(team.rank, d, a.data(), b.data(), c.data());
        ASSERT_EQ(c, expected)
            << s.m << " x " << s.n << " x " << s.k << ", flags " << flags
            << ", " << threads << " threads";
      }
    }
  }
}

} // namespace
