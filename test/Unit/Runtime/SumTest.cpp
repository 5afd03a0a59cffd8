//===- SumTest.cpp - sums over ranks in threads ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sum.h"
#include "DType.h"
#include "Threads/ThreadTransport.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <random>
#include <thread>

using namespace stagewright::runtime;

namespace {

/// Ranks with buckets of two buffers, and a channel from rank 0 to rank 1.
struct Group {
  Group(int64_t ranks, int64_t elements, int64_t collectives = 1,
        bool carried = false) {
    manifest.ranks.resize(size_t(ranks));
    for (int64_t c = 0; c < collectives; ++c) {
      Collective sum;
      sum.name = "sum." + std::to_string(c);
      sum.carried = carried;
      for (int64_t r = 0; r < ranks; ++r) {
        auto &buffers = manifest.ranks[size_t(r)].buffers;
        sum.buckets.push_back({r, int64_t(buffers.size()), 2});
        for (int64_t bytes : {elements * 4, int64_t(4)}) {
          Buffer buffer;
          buffer.kind = BufferKind::Gradient;
          buffer.bytes = bytes;
          buffers.push_back(buffer);
        }
      }
      sum.elements = (elements * 4 + 63) / 64 * 16 + 16;
      manifest.collectives.push_back(sum);
    }
    manifest.channels.push_back({{1, false}, "c", 0, 1, 8});
    std::vector<std::byte *> bases;
    for (int64_t r = 0; r < ranks; ++r) {
      layouts.push_back(layOut(manifest, r, 1));
      memory.emplace_back(size_t(layouts.back().total));
      bases.push_back(memory.back().data());
    }
    transport = std::make_unique<ThreadTransport>(manifest, layouts, bases, 1,
                                                  /*poison=*/false, 1000);
  }

  float *bucket(int64_t rank, int64_t collective = 0) {
    const Ring &ring = layouts[size_t(rank)].buffers[size_t(2 * collective)];
    return reinterpret_cast<float *>(memory[size_t(rank)].data() + ring.offset);
  }

  /// Runs `body` for every rank in a thread of its own.
  void run(const std::function<void(int64_t)> &body) {
    std::vector<std::thread> threads;
    for (size_t r = 0; r < memory.size(); ++r)
      threads.emplace_back([this, &body, r] {
        try {
          body(int64_t(r));
        } catch (const Stopped &) {
        } catch (const Error &error) {
          transport->fail(int64_t(r), error.what());
        }
        transport->finish(int64_t(r));
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  Manifest manifest;
  std::vector<Layout> layouts;
  std::vector<std::vector<std::byte>> memory;
  std::unique_ptr<ThreadTransport> transport;
};

TEST(Sum, AllRanksGetTheSumInTheOrderOfTheRanks) {
  constexpr int64_t elements = 100003;
  for (int64_t ranks : {2, 3, 5}) {
    Group group(ranks, elements);
    std::vector<float> expected(elements);
    std::mt19937 random(7);
    std::normal_distribution<float> value;
    for (int64_t r = 0; r < ranks; ++r)
      for (int64_t i = 0; i < elements; ++i) {
        group.bucket(r)[i] = value(random);
        expected[size_t(i)] = r == 0 ? group.bucket(r)[i]
                                     : expected[size_t(i)] + group.bucket(r)[i];
      }
    group.run([&](int64_t rank) {
      group.transport->allReduce(rank, 0);
      group.transport->awaitReduced(rank, 0);
    });
    EXPECT_EQ(group.transport->result(), "");
    for (int64_t r = 0; r < ranks; ++r)
      EXPECT_EQ(0, std::memcmp(group.bucket(r), expected.data(),
                               elements * sizeof(float)));
  }
}

/// Every step awaits the sum of the step before and begins another: ranks leave
/// a sum while others have begun the next. Sometimes the host completes it.
TEST(Sum, CarriedSumsEndInTheNextStep) {
  constexpr int64_t ranks = 3, elements = 40000, steps = 60;
  Group group(ranks, elements, 1, /*carried=*/true);
  auto sumOf = [](int64_t step) { return float(3 * step + 3); };
  std::atomic<int64_t> wrong{0};
  for (int64_t step = 1; step <= steps; ++step) {
    group.transport->reset();
    group.run([&](int64_t rank) {
      group.transport->awaitReduced(rank, 0);
      float *own = group.bucket(rank);
      for (int64_t i = 0; i < elements; ++i)
        wrong += step > 1 && own[i] != sumOf(step - 1);
      std::fill_n(own, elements, float(step + rank));
      group.transport->allReduce(rank, 0);
    });
    EXPECT_EQ(group.transport->result(), "");
    if (step % 7 != 0)
      continue;
    group.transport->settle();
    EXPECT_EQ(group.bucket(2)[elements - 1], sumOf(step));
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Sum, WeightedSumsAddInTheOrderOfTheTerms) {
  std::vector<float> a(3000), b(3000);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i), b[i] = 1 / float(i + 1);
  std::vector<float> expected(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    expected[i] = 0.25F * a[i] + 0.75F * b[i];
  Term terms[] = {{0.25, a.data()}, {0.75, b.data()}};
  weightedSum(SW_F32, a.data(), terms, int64_t(a.size()));
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_FLOAT_EQ(a[i], expected[i]);
  uint16_t half[] = {0x3C00, 0x4000}; // 1 and 2 in float16
  Term twice[] = {{1, half}, {1, half}};
  weightedSum(SW_F16, half, twice, 2);
  EXPECT_EQ(half[0], 0x4000);
  EXPECT_EQ(half[1], 0x4400);
  uint16_t most[] = {65535}; // Its square is no int.
  Term square[] = {{65535, most}};
  weightedSum(SW_U16, most, square, 1);
  EXPECT_EQ(most[0], 1); // (2^16 - 1)^2 modulo 2^16.
}

TEST(Sum, ManyStepsOfManySumsUnderLoad) {
  constexpr int64_t ranks = 3, elements = 40000, collectives = 3;
  Group group(ranks, elements, collectives);
  for (int step = 0; step < 100; ++step) {
    group.transport->reset();
    group.run([&](int64_t rank) {
      for (int64_t c = 0; c < collectives; ++c) {
        std::fill_n(group.bucket(rank, c), elements, float(rank + c + step));
        group.transport->allReduce(rank, c);
      }
      for (int64_t c = collectives - 1; c >= 0; --c)
        group.transport->awaitReduced(rank, c);
      for (int64_t c = 0; c < collectives; ++c)
        for (int64_t i = 0; i < elements; ++i)
          if (group.bucket(rank, c)[i] != float(3 + ranks * (c + step)))
            raise("wrong sum");
    });
    ASSERT_EQ(group.transport->result(), "");
  }
}

/// Rank 0 sends late and does not add. Whether rank 1 has added by then depends
/// on the scheduler, so there are several tries.
TEST(Sum, ARankThatWaitsForAMessageAddsMeanwhile) {
  bool added = false;
  for (int tries = 0; tries < 50 && !added; ++tries) {
    Group group(2, 1000);
    std::atomic<bool> seen{false};
    for (int64_t r : {0, 1})
      std::fill_n(group.bucket(r), 1000, 1.0f);
    group.run([&](int64_t rank) {
      Transport &t = *group.transport;
      t.allReduce(rank, 0);
      if (rank == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        t.claim(0, 0, 0);
        t.send(0, 0, 0);
        seen.wait(false);
      } else {
        t.recv(1, 0, 0);
        t.release(1, 0, 0);
        added = group.bucket(1)[0] == 2;
        seen = true;
        seen.notify_all();
      }
      t.awaitReduced(rank, 0);
    });
    EXPECT_EQ(group.transport->result(), "");
  }
  EXPECT_TRUE(added);
}

TEST(Sum, AWaitWithoutHopeNamesTheRank) {
  for (int i = 0; i < 100; ++i) {
    Group group(2, 100);
    group.run([&](int64_t rank) {
      if (rank == 1)
        return;
      group.transport->allReduce(0, 0);
      group.transport->awaitReduced(0, 0);
    });
    EXPECT_EQ(group.transport->result(),
              "the ranks wait for each other; rank 0 waits for rank 1, which "
              "has ended, to begin its part of sum 'sum.0'");
  }
}

TEST(Sum, OutOfOrderIsAnError) {
  Group group(2, 100);
  Transport &t = *group.transport;
  EXPECT_THROW(t.awaitReduced(0, 0), Error);
  EXPECT_THROW(t.allReduce(0, 1), Error);
  t.allReduce(0, 0);
  EXPECT_THROW(t.allReduce(0, 0), Error);
  EXPECT_EQ(group.transport->result(),
            "sum 'sum.0' is never awaited by rank 0");
  group.transport->reset();
  EXPECT_EQ(group.transport->result(), "");
}

/// The sum of three arrays of one element; elements are given by their bits.
template <typename T> T sumOf(sw_dtype dtype, T a, T b, T c) {
  T parts[3] = {a, b, c};
  std::byte *arrays[3];
  for (int i = 0; i < 3; ++i)
    arrays[i] = reinterpret_cast<std::byte *>(parts + i);
  sumToAll(dtype, arrays, 0, 1);
  EXPECT_EQ(0, std::memcmp(parts, parts + 1, sizeof(T)));
  EXPECT_EQ(0, std::memcmp(parts, parts + 2, sizeof(T)));
  return parts[0];
}

TEST(Sum, EveryElementType) {
  EXPECT_EQ(sumOf<double>(SW_F64, 0.1, 0.2, 0.3), 0.1 + 0.2 + 0.3);
  EXPECT_EQ(sumOf<int32_t>(SW_I32, -5, 7, 1), 3);
  EXPECT_EQ(sumOf<uint8_t>(SW_U8, 200, 100, 1), 45);
  EXPECT_EQ(sumOf<int64_t>(SW_I64, int64_t(1) << 40, 1, 1),
            (int64_t(1) << 40) + 2);
  // 1 + 2^-8 + 2^-8 is 1.0078125 in bfloat16; rounded after each addition it is
  // 1.
  EXPECT_EQ(sumOf<uint16_t>(SW_BF16, 0x3f80, 0x3b80, 0x3b80), 0x3f81);
  // The same for 1 + 2^-11 + 2^-11 in float16.
  EXPECT_EQ(sumOf<uint16_t>(SW_F16, 0x3c00, 0x1000, 0x1000), 0x3c01);
  EXPECT_FALSE(canSum(SW_BOOL));
}

TEST(Sum, IntoOneArray) {
  float to[3] = {1, 2, 3}, from[3] = {10, 20, 30};
  sumInto(SW_F32, to, from, 3);
  EXPECT_EQ(to[2], 33);
  uint16_t brain = 0x3f80, one = 0x3f80;
  sumInto(SW_BF16, &brain, &one, 1);
  EXPECT_EQ(brain, 0x4000);
  EXPECT_THROW(sumInto(SW_BOOL, to, from, 1), Error);
}

} // namespace
