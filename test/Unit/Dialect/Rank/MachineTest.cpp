//===- MachineTest.cpp - one run against a cycle search -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests the claim of Machine.h on random programs: a run ends if and only if
// the graph of program order, send before receive and release before claim has
// no cycle.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <random>

using namespace stagewright::rank;

namespace {

using Key = std::tuple<EventKind, int32_t, int64_t>;

/// Whether the events of `machine` have a total order that satisfies program
/// order and all waits of contract D (Machine.h).
bool isAcyclic(const Machine &machine) {
  std::vector<Key> keys;
  std::map<Key, size_t> numberOf;
  std::vector<std::vector<size_t>> next;
  std::vector<int> waits;
  for (const RankEvents &rank : machine.ranks)
    for (size_t i = 0; i < rank.events.size(); ++i) {
      const Event &event = rank.events[i];
      keys.push_back({event.kind, event.object, event.microbatch});
      numberOf[keys.back()] = keys.size() - 1;
      next.emplace_back();
      waits.push_back(i > 0);
      if (i > 0)
        next[keys.size() - 2].push_back(keys.size() - 1);
    }
  auto addEdge = [&](Key from, size_t to) {
    next[numberOf.at(from)].push_back(to);
    ++waits[to];
  };
  for (size_t number = 0; number < keys.size(); ++number) {
    auto [kind, object, m] = keys[number];
    if (kind == EventKind::Recv)
      addEdge({EventKind::Send, object, m}, number);
    int64_t before = m - machine.channels[object].slots;
    if (kind == EventKind::Claim && before >= 0)
      addEdge({EventKind::ReleaseChannel, object, before}, number);
  }
  std::vector<size_t> ready;
  for (size_t number = 0; number < keys.size(); ++number)
    if (waits[number] == 0)
      ready.push_back(number);
  for (size_t done = 0; done < ready.size(); ++done)
    for (size_t after : next[ready[done]])
      if (--waits[after] == 0)
        ready.push_back(after);
  return ready.size() == keys.size();
}

/// Random ranks: events of one transfer are in order, transfers interleaved.
Machine makeMachine(std::mt19937 &random) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Machine machine;
  int64_t ranks = pick(2, 4), messages = pick(1, 5);
  machine.ranks.resize(ranks);
  std::vector<std::vector<std::vector<Event>>> sequences(ranks);
  for (int32_t number = 0; number < pick(1, 5); ++number) {
    int64_t from = pick(0, ranks - 1), to = (from + pick(1, ranks - 1)) % ranks;
    machine.channels.push_back({"c" + std::to_string(number), pick(1, 3),
                                messages, 64, from, to, nullptr});
    int64_t held = pick(0, 2);
    std::vector<Event> sends, receives;
    for (int64_t m = 0; m < messages; ++m) {
      sends.push_back({EventKind::Claim, 'F', number, m, m, 0, nullptr});
      sends.push_back({EventKind::Send, 'F', number, m, m, 0, nullptr});
    }
    for (int64_t m = 0; m < messages + held; ++m) {
      if (m < messages)
        receives.push_back({EventKind::Recv, 'F', number, m, m, 0, nullptr});
      if (m >= held)
        receives.push_back({EventKind::ReleaseChannel, 'B', number, m - held,
                            m - held, 0, nullptr});
    }
    sequences[from].push_back(sends);
    sequences[to].push_back(receives);
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    while (!sequences[rank].empty()) {
      size_t which = pick(0, int64_t(sequences[rank].size()) - 1);
      std::vector<Event> &sequence = sequences[rank][which];
      machine.ranks[rank].events.push_back(sequence.front());
      sequence.erase(sequence.begin());
      if (sequence.empty())
        sequences[rank].erase(sequences[rank].begin() + which);
    }
  return machine;
}

TEST(Machine, EndsExactlyWhenThereIsNoCycle) {
  std::mt19937 random(20);
  int ended = 0, stuck = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    Machine machine = makeMachine(random);
    std::optional<Fault> fault = run(machine);
    ASSERT_EQ(!fault, isAcyclic(machine)) << "trial " << trial;
    ++(fault ? stuck : ended);
    if (fault) {
      EXPECT_EQ(fault->error.message.rfind("schedule deadlocks: rank ", 0), 0u);
      EXPECT_GE(fault->notes.size(), 2u);
    }
  }
  // Both outcomes are common enough for a meaningful test.
  EXPECT_GT(ended, 500);
  EXPECT_GT(stuck, 500);
}

TEST(Machine, LivePeakCountsSlotsAndWorkspaceTogether) {
  RankEvents rank;
  rank.stashes.push_back({"k", 2, 4, 64, -1, -1, nullptr});
  rank.stashes.push_back({"l", 2, 4, 128, -1, -1, nullptr});
  auto add = [&](EventKind kind, int32_t object, int64_t m, int64_t bytes = 0) {
    rank.events.push_back({kind, 'F', object, m, m, bytes, nullptr});
  };
  add(EventKind::Acquire, 0, 0);
  add(EventKind::Call, 0, 0, 256); // 64 + 256
  add(EventKind::Acquire, 1, 0);
  add(EventKind::Acquire, 0, 1);
  add(EventKind::Call, 0, 0, 100); // 256 + 100
  add(EventKind::Release, 1, 0);
  add(EventKind::Call, 0, 0, 192); // 128 + 192
  EXPECT_EQ(livePeak(rank), 356);
}

/// A stash at byte 128 of the workspace, a call below it, and a call that
/// overlaps it: valid after the stash is released, an error before.
TEST(Machine, PlacesOfTheWorkspaceAreUsedInTurn) {
  RankEvents rank;
  rank.stashes.push_back({"k", 1, 4, 64, -1, -1, nullptr, false, 128});
  rank.calls = {{{{0, 128}}, 64}, {{{64, 192}, {0, 64}}, 192}};
  auto add = [&](EventKind kind, int32_t object, int64_t bytes = 0) {
    rank.events.push_back({kind, 'F', object, 0, 0, bytes, nullptr});
  };
  add(EventKind::Acquire, 0);
  add(EventKind::Call, 0, 128);
  add(EventKind::Release, 0);
  add(EventKind::Call, 1, 192);
  EXPECT_FALSE(checkPlaces(rank));
  EXPECT_EQ(livePeak(rank), 192);
  EXPECT_EQ(liveBound(rank), 192);

  RankEvents early = rank;
  std::swap(early.events[2], early.events[3]);
  std::optional<Fault> fault = checkPlaces(early);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->error.message,
            "bytes 64 to 192 of the workspace are used here, but stash 'k' is "
            "held in them");

  RankEvents twice = rank;
  twice.calls[1].ranges[1].second = 128;
  fault = checkPlaces(twice);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->error.message,
            "bytes 64 to 192 of the workspace are used here, but another value "
            "of the action lives in them");

  RankEvents crossed = rank;
  crossed.stashes.push_back({"l", 1, 4, 64, -1, -1, nullptr, false, 64});
  crossed.stashes[1].stride = 128;
  crossed.events.insert(crossed.events.begin() + 1,
                        {EventKind::Acquire, 'F', 1, 0, 0, 0, nullptr});
  fault = checkPlaces(crossed);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->error.message,
            "bytes 64 to 192 of the workspace are used here, but stash 'k' is "
            "held in them");
}

} // namespace
