//===- GatherTest.cpp - gathers from ranks in threads ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/ThreadTransport.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

using namespace stagewright::runtime;

namespace {

/// Ranks with one stash of `slots` slots, each gathered or exchanged, and
/// `elements` in each part.
struct Gathering {
  Gathering(int64_t ranks, int64_t elements, int64_t slots,
            bool exchanges = false)
      : elements(elements), slots(slots), exchanges(exchanges) {
    manifest.ranks.resize(size_t(ranks));
    for (RankManifest &rank : manifest.ranks) {
      Buffer &stash = rank.buffers.emplace_back();
      stash.kind = BufferKind::Stash;
      stash.depth = slots;
      stash.bytes = ranks * elements * 4 * (exchanges ? 2 : 1);
    }
    for (int64_t slot = 0; slot < slots; ++slot) {
      Collective &gather = manifest.collectives.emplace_back();
      gather.name = "join";
      gather.elements = elements;
      gather.gathers = true;
      gather.exchanges = exchanges;
      for (int64_t rank = 0; rank < ranks; ++rank)
        gather.buckets.push_back({rank, 0, 1, slot});
    }
    std::vector<std::byte *> bases;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      layouts.push_back(layOut(manifest, rank, 100));
      memory.emplace_back(size_t(layouts.back().total));
      bases.push_back(memory.back().data());
    }
    transport = std::make_unique<ThreadTransport>(manifest, layouts, bases, 100,
                                                  /*poison=*/false, 1000);
  }

  float *part(int64_t rank, int64_t m, int64_t number) {
    const Ring &ring = layouts[size_t(rank)].buffers[0];
    return reinterpret_cast<float *>(memory[size_t(rank)].data() +
                                     ring.at(m % slots)) +
           number * elements;
  }
  /// Writes what `rank` sends.
  void fill(int64_t rank, int64_t m) {
    for (int64_t to = 0; to < int64_t(memory.size()); ++to)
      if (exchanges ? to != rank : to == rank)
        std::fill_n(part(rank, m, to), elements, valueOf(rank, to, m));
  }
  /// Whether `rank` has received all.
  bool isWhole(int64_t rank, int64_t m) {
    auto ranks = int64_t(memory.size());
    for (int64_t from = 0; from < ranks; ++from)
      for (int64_t i = 0; i < elements; ++i)
        // A rank sends itself no part of an exchange.
        if ((!exchanges || from != rank) &&
            part(rank, m, (exchanges ? ranks : 0) + from)[i] !=
                valueOf(from, exchanges ? rank : from, m))
          return false;
    return true;
  }
  static float valueOf(int64_t from, int64_t to, int64_t m) {
    return float(m + 1) + float(from) / 16 + float(to) / 256;
  }

  int64_t elements, slots;
  bool exchanges;
  Manifest manifest;
  std::vector<Layout> layouts;
  std::vector<std::vector<std::byte>> memory;
  std::unique_ptr<ThreadTransport> transport;
};

/// Ranks begin slots again as soon as they have read them, while others may
/// still wait for the last gather in the slot.
TEST(Gather, ManyMicrobatchesInFewSlots) {
  for (auto [slots, elements, exchanges] :
       {std::tuple(1, 16, false), std::tuple(1, 40000, false),
        std::tuple(2, 40000, false), std::tuple(3, 40000, false),
        std::tuple(3, 16, false), std::tuple(1, 40000, true),
        std::tuple(2, 16, true)}) {
    constexpr int64_t ranks = 3, microbatches = 60;
    Gathering all(ranks, elements, slots, exchanges);
    for (int step = 0; step < 3; ++step) {
      all.transport->reset();
      std::vector<std::thread> threads;
      for (int64_t rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank, slots = int64_t(slots)] {
          std::mt19937 random{unsigned(rank)};
          try {
            for (int64_t m = 0; m < microbatches + slots - 1; ++m) {
              if (random() % 4 == 0)
                std::this_thread::yield();
              if (m < microbatches) {
                all.fill(rank, m);
                all.transport->allReduce(rank, m % slots);
              }
              int64_t read = m - (slots - 1);
              if (read < 0)
                continue;
              all.transport->awaitReduced(rank, read % slots);
              if (!all.isWhole(rank, read))
                raise("wrong part");
            }
          } catch (const Error &error) {
            all.transport->fail(rank, error.what());
          } catch (const Stopped &) {
          }
          all.transport->finish(rank);
        });
      for (std::thread &thread : threads)
        thread.join();
      ASSERT_EQ(all.transport->result(), "");
      // Each rank sends its part to every other.
      EXPECT_EQ(all.transport->sentBy(1).microbatches,
                int64_t(microbatches * (ranks - 1) * elements * 4));
      EXPECT_EQ(all.transport->sentBy(1).sums, 0);
    }
  }
}

TEST(Gather, OutOfOrderIsAnError) {
  Gathering all(2, 16, 2);
  Transport &t = *all.transport;
  EXPECT_THROW(t.awaitReduced(0, 0), Error);
  t.allReduce(0, 0);
  t.allReduce(0, 1);
  EXPECT_THROW(t.allReduce(0, 0), Error);
  EXPECT_EQ(t.result(), "gather 'join' is never awaited by rank 0");
}

} // namespace
