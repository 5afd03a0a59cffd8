//===- MachineTest.cpp - runs and memory of rank programs -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On random programs, tests the claim of Machine.h that a run ends if and only
// if the graph of program order, send before receive and release before claim
// has no cycle.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace stagewright::rank;

namespace {

using Key = std::tuple<EventKind, int32_t, int64_t>;

/// Whether the events of `machine` have a total order that satisfies program
/// order and all waits of channels (Machine.h).
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
/// overlaps the stash. The latter is valid after the stash is released, and an
/// error before.
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

/// Ranks that choose: a few lanes each, three microbatches, channels between
/// any two lanes of different ranks, and lanes that follow others.
class ChoosingRanks {
public:
  explicit ChoosingRanks(unsigned seed) : random(seed) {
    machine.ranks.resize(size_t(whole(2, 3)));
    for (size_t rank = 0; rank < machine.ranks.size(); ++rank)
      for (int64_t lanes = whole(1, 3), lane = 0; lane < lanes; ++lane)
        lanesOf.push_back({rank, lane, {}, {}});
    for (int64_t channels = whole(1, 5); channels > 0; --channels)
      addChannel();
    for (LaneData &lane : lanesOf)
      for (LaneData &other : lanesOf)
        if (&lane != &other && lane.rank == other.rank && whole(0, 5) == 0)
          lane.after.push_back(other.lane);
    for (LaneData &lane : lanesOf)
      addRows(lane);
  }

  /// Whether the waits of the rows have no cycle.
  bool isAcyclic() const {
    std::map<std::pair<size_t, size_t>, size_t> numbers;
    std::map<Key, size_t> rowOf; // of an event on a channel
    for (size_t rank = 0; rank < machine.ranks.size(); ++rank)
      for (size_t row = 0; row < machine.ranks[rank].rows.size(); ++row) {
        size_t number = numbers.size();
        numbers[{rank, row}] = number;
        const Row &of = machine.ranks[rank].rows[row];
        for (size_t i = of.begin; i < of.end; ++i) {
          const Event &event = machine.ranks[rank].events[i];
          rowOf[{event.kind, event.object, event.microbatch}] = number;
        }
      }
    std::vector<std::set<size_t>> before(numbers.size());
    auto wait = [&](size_t row, Key key) {
      if (auto other = rowOf.find(key); other != rowOf.end())
        before[row].insert(other->second);
    };
    for (auto [key, row] : rowOf) {
      auto [kind, object, m] = key;
      if (kind == EventKind::Recv)
        wait(row, {EventKind::Send, object, m});
      if (kind == EventKind::Claim)
        wait(row, {EventKind::ReleaseChannel, object,
                   m - machine.channels[object].slots});
    }
    for (auto [place, row] : numbers) {
      const RankEvents &rank = machine.ranks[place.first];
      for (size_t after : rank.rows[place.second].after)
        before[row].insert(numbers.at({place.first, after}));
      if (place.second > 0 &&
          rank.rows[place.second - 1].lane == rank.rows[place.second].lane)
        before[row].insert(row - 1);
    }
    std::set<size_t> done;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t row = 0; row < before.size(); ++row)
        if (!done.count(row) &&
            std::includes(done.begin(), done.end(), before[row].begin(),
                          before[row].end()))
          moved = done.insert(row).second;
    }
    return done.size() == before.size();
  }

  Machine machine;

private:
  static constexpr int64_t microbatches = 3;
  struct LaneData {
    size_t rank;
    int64_t lane;
    std::vector<Event> events; ///< Of microbatch 0.
    std::vector<int64_t> after;
  };

  int64_t whole(int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  }
  LaneData &any() { return lanesOf[size_t(whole(0, lanesOf.size() - 1))]; }

  void addChannel() {
    LaneData *from = &any(), *to = &any();
    while (from->rank == to->rank)
      from = &any(), to = &any();
    auto number = int32_t(machine.channels.size());
    machine.channels.push_back({"c" + std::to_string(number), whole(1, 2),
                                microbatches, 0, int64_t(from->rank),
                                int64_t(to->rank)});
    from->events.push_back({EventKind::Claim, 'F', number});
    from->events.push_back({EventKind::Send, 'F', number});
    to->events.push_back({EventKind::Recv, 'F', number});
    // Sometimes another lane, which follows, releases the message.
    LaneData *last = &any();
    if (last->rank != to->rank || last == to || whole(0, 1))
      last = to;
    else
      last->after.push_back(to->lane);
    last->events.push_back({EventKind::ReleaseChannel, 'F', number});
  }

  void addRows(const LaneData &lane) {
    RankEvents &rank = machine.ranks[lane.rank];
    for (int64_t m = 0; m < microbatches; ++m) {
      Row row;
      row.lane = lane.lane, row.microbatch = m;
      row.begin = rank.events.size();
      for (Event event : lane.events) {
        event.microbatch = m;
        rank.events.push_back(event);
      }
      row.end = rank.events.size();
      for (int64_t other : lane.after)
        row.after.push_back(size_t(other * microbatches + m));
      rank.rows.push_back(row);
    }
  }

  std::mt19937_64 random;
  std::vector<LaneData> lanesOf;
};

// Rows that can run may run in any order, but run() tries only one: if the
// ranks end in that order, they end in every order.
TEST(Machine, RanksThatChooseEndUnlessTheirRowsWaitInACycle) {
  int ended = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    ChoosingRanks ranks(seed);
    ASSERT_FALSE(linkRows(ranks.machine)) << seed;
    std::optional<Fault> fault = run(ranks.machine);
    EXPECT_EQ(!fault, ranks.isAcyclic())
        << seed << (fault ? ": " + fault->error.message : "");
    ended += !fault;
  }
  EXPECT_GT(ended, 200);
  EXPECT_LT(ended, 800);
}

} // namespace
