//===- ThreadTransportTest.cpp - channels between threads -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/ThreadTransport.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

using namespace stagewright::runtime;

namespace {

/// Two ranks with a channel in each direction, without an artifact.
struct Pair {
  Pair(int64_t microbatches, int64_t depth, bool poison = false) {
    manifest.microbatches = microbatches;
    manifest.ranks.resize(2);
    for (int64_t from : {0, 1})
      manifest.channels.push_back(
          {{depth, false}, "c" + std::to_string(from), from, 1 - from, 8});
    for (int64_t rank : {0, 1}) {
      layouts.push_back(layOut(manifest, rank, microbatches));
      memory[rank].resize(size_t(layouts[rank].total));
    }
    transport = std::make_unique<ThreadTransport>(
        manifest, layouts,
        std::vector<std::byte *>{memory[0].data(), memory[1].data()},
        microbatches, poison, 1000);
  }

  /// Runs one function per rank; returns whether none was stopped.
  template <typename A, typename B> bool run(A a, B b) {
    bool good[2] = {};
    auto rank = [&](int64_t index, auto body) {
      try {
        body(*transport);
        good[index] = true;
      } catch (const Stopped &) {
      } catch (const Error &error) {
        transport->fail(index, error.what());
      }
      transport->finish(index);
    };
    std::thread first([&] { rank(0, a); }), second([&] { rank(1, b); });
    first.join();
    second.join();
    return good[0] && good[1];
  }

  Manifest manifest;
  std::vector<Layout> layouts;
  std::vector<std::byte> memory[2];
  std::unique_ptr<ThreadTransport> transport;
};

int64_t &number(std::byte *slot) { return *reinterpret_cast<int64_t *>(slot); }

TEST(Transport, KeepsOrderAndDepthUnderLoad) {
  constexpr int64_t count = 20000;
  for (int64_t depth : {1, 2, 7}) {
    Pair pair(count, depth);
    bool good = pair.run(
        [&](Transport &t) {
          for (int64_t m = 0; m < count; ++m) {
            number(t.claim(0, 0, m)) = m * 3;
            t.send(0, 0, m);
          }
        },
        [&](Transport &t) {
          for (int64_t m = 0; m < count; ++m) {
            if (number(t.recv(1, 0, m)) != m * 3)
              raise("wrong number");
            t.release(1, 0, m);
          }
        });
    EXPECT_TRUE(good);
    EXPECT_EQ(pair.transport->result(), "");
  }
}

TEST(Transport, PingPong) {
  constexpr int64_t count = 5000;
  Pair pair(count, 1);
  auto player = [&](int64_t me, bool first) {
    return [=](Transport &t) {
      for (int64_t m = 0; m < count; ++m)
        for (bool turn : {first, !first})
          if (turn) {
            number(t.claim(me, me, m)) = m;
            t.send(me, me, m);
          } else {
            if (number(t.recv(me, 1 - me, m)) != m)
              raise("wrong number");
            t.release(me, 1 - me, m);
          }
    };
  };
  EXPECT_TRUE(pair.run(player(0, true), player(1, false)));
}

TEST(Transport, AFailureWakesSleepers) {
  for (int i = 0; i < 50; ++i) {
    Pair pair(4, 1);
    EXPECT_FALSE(pair.run([](Transport &t) { t.recv(0, 1, 0); },
                          [](Transport &t) {
                            std::this_thread::sleep_for(
                                std::chrono::milliseconds(1));
                            t.fail(1, "first");
                            t.fail(1, "second");
                          }));
    EXPECT_EQ(pair.transport->result(), "rank 1: first");
  }
}

TEST(Transport, AWaitWithoutHopeEnds) {
  for (int i = 0; i < 200; ++i) {
    Pair pair(4, 1);
    // The second message never gets a slot, because the peer does not receive.
    EXPECT_FALSE(pair.run(
        [](Transport &t) {
          for (int64_t m = 0; m < 2; ++m) {
            t.claim(0, 0, m);
            t.send(0, 0, m);
          }
        },
        [](Transport &) {}));
    EXPECT_EQ(pair.transport->result(),
              "the ranks wait for each other; rank 0 waits to send microbatch "
              "1 of channel 'c0' to rank 1, which has ended");
    pair.transport->reset();
    EXPECT_EQ(pair.transport->result(), "");
  }
}

TEST(Transport, ARankWaitsForTheFirstOfSeveral) {
  Pair pair(2, 1);
  std::atomic<bool> asked{false};
  EXPECT_TRUE(pair.run(
      [&](Transport &t) {
        asked.wait(false);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        t.claim(0, 0, 0);
        t.send(0, 0, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        t.recv(0, 1, 0);
        t.release(0, 1, 0);
      },
      [&](Transport &t) {
        t.claim(1, 1, 0);
        t.send(1, 1, 0);
        Need slot{1, 1, true}, message{0, 0, false};
        EXPECT_FALSE(t.isReady(1, slot) || t.isReady(1, message));
        asked = true;
        asked.notify_all();
        t.waitForAny(1, std::array{slot, message});
        EXPECT_TRUE(t.isReady(1, message));
        t.recv(1, 0, 0);
        t.release(1, 0, 0);
        t.waitForAny(1, std::array{slot});
        EXPECT_TRUE(t.isReady(1, slot));
      }));
  EXPECT_EQ(pair.transport->result(), "");
}

TEST(Transport, DelayedMessagesArriveLater) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds hop(20);
  Pair pair(2, 2);
  pair.transport->delayMessages(std::chrono::nanoseconds(hop).count());
  Clock::time_point sent, chosen, received;
  EXPECT_TRUE(pair.run(
      [&](Transport &t) {
        sent = Clock::now();
        for (int64_t m : {0, 1}) {
          t.claim(0, 0, m);
          t.send(0, 0, m);
        }
      },
      [&](Transport &t) {
        t.waitForAny(1, std::array{Need{0, 1}});
        chosen = Clock::now();
        EXPECT_TRUE(t.isReady(1, {0, 1}));
        for (int64_t m : {0, 1}) {
          t.recv(1, 0, m);
          t.release(1, 0, m);
        }
        received = Clock::now();
      }));
  EXPECT_GE(chosen - sent, hop);
  EXPECT_GE(received - sent, hop);
}

TEST(Transport, RanksThatAllWaitForSeveralAreStuck) {
  Pair pair(2, 1);
  EXPECT_FALSE(pair.run(
      [](Transport &t) { t.waitForAny(0, std::array{Need{1, 0}, Need{1, 1}}); },
      [](Transport &t) { t.waitForAny(1, std::array{Need{0, 1}}); }));
  EXPECT_EQ(
      pair.transport->result(),
      "the ranks wait for each other; rank 0 waits for microbatch 0 of "
      "channel 'c1' from rank 1; rank 1 waits for microbatch 1 of channel "
      "'c0' from rank 0");
}

TEST(Transport, BothEndsBelongToSomebody) {
  Pair pair(4, 1);
  EXPECT_THROW(pair.transport->claim(1, 0, 0), Error);
  EXPECT_THROW(pair.transport->recv(0, 0, 0), Error);
  EXPECT_THROW(pair.transport->recv(1, 5, 0), Error);
  EXPECT_THROW(pair.transport->claim(0, 0, 4), Error);
  EXPECT_THROW(pair.transport->send(0, 0, 1), Error);
}

TEST(Transport, OnlyAHeldSlotIsPoisoned) {
  Pair pair(4, 1, true);
  Transport &t = *pair.transport;
  std::byte *slot = t.claim(0, 0, 0);
  number(slot) = 42;
  EXPECT_THROW(t.release(1, 0, 0), Error); // not yet sent
  EXPECT_EQ(number(slot), 42);
  t.send(0, 0, 0);
  EXPECT_THROW(t.release(1, 0, 0), Error); // not yet received
  EXPECT_EQ(number(slot), 42);
  t.recv(1, 0, 0);
  t.release(1, 0, 0);
  EXPECT_EQ(number(slot), -1);
}

} // namespace
