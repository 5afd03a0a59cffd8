//===- MutationsTest.cpp - damaged schedules and their errors -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes 1,000 random mutations of each schedule (400 of its lists with
// messages), each of one to three steps: two actions are swapped, or one
// is dropped, duplicated, moved to another rank, renumbered or paired. The
// verifier and the naive simulator (Naive.h) must agree on each, and the note
// of every error must mark the place.
//
//===----------------------------------------------------------------------===//

#include "ListText.h"
#include "Naive.h"
#include "stagewright/Scheduling/Verify.h"
#include <cstdio>
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr uint64_t kSeed = 20261122;
static constexpr int kMutations = 1000 / kPart;
static constexpr int kListMutations = 400 / kPart; // Fewer, as each is slower.

/// Mutates `lists`, which have actions, or entries with messages.
template <typename List, typename Renumber>
static void damage(std::vector<List> &lists, Draw &draw, Renumber renumber) {
  size_t rank = draw.whole(0, lists.size() - 1);
  size_t other = draw.whole(0, lists.size() - 1);
  if (lists[rank].empty())
    return;
  List &list = lists[rank];
  size_t at = draw.whole(0, list.size() - 1);
  size_t to = draw.whole(0, list.size() - 1);
  auto insert = [&](List &into, auto entry) {
    into.insert(into.begin() + draw.whole(0, into.size()), entry);
  };
  switch (draw.whole(0, 6)) {
  case 0:
  case 1: // Swaps neighbours, which is often still valid.
    to = std::min(at + 1, list.size() - 1);
    [[fallthrough]];
  case 2:
    std::swap(list[at], list[to]);
    break;
  case 3:
    list.erase(list.begin() + at);
    break;
  case 4:
    insert(lists[other], list[at]);
    break;
  case 5: {
    auto entry = list[at];
    list.erase(list.begin() + at);
    insert(lists[other], entry);
    break;
  }
  case 6:
    renumber(list[at]);
    break;
  }
}

static void renumber(Action &action, Draw &draw) {
  switch (draw.whole(0, 3)) {
  case 0:
    action.microbatch += draw.whole(-1, 1);
    break;
  case 1:
    action.stage += draw.whole(-1, 1);
    break;
  case 2:
    action.kind = static_cast<ActionKind>("FBIWR"[draw.whole(0, 4)]);
    break;
  case 3:
    action.paired = !action.paired;
    break;
  }
}

/// Whether the note of an error marks a step. If the only list is empty, the
/// error can only name the missing action.
template <typename List>
static bool isLocated(const Error &error, const std::vector<List> &lists) {
  if (lists.size() == 1 && lists.front().empty())
    return error.message == "schedule lacks 0F0";
  return !error.message.empty() && error.notes.size() == 1 &&
         error.notes.front().find("\nrank ") != std::string::npos &&
         error.notes.front().find('[') != std::string::npos;
}

namespace {

/// Counts valid and rejected schedules, and checks that both checkers agree.
class Trial {
public:
  template <typename Schedule>
  void agree(const Schedule &schedule, const Status &status, bool naive,
             const std::string &name) {
    std::string what = name;
    for (const auto &order : schedule.ranks)
      what += "\n" + toString(order);
    what += "\n" + (status ? "accepted" : status.error().message);
    ASSERT_EQ(status.ok(), naive) << what;
    if (!status) {
      ASSERT_TRUE(isLocated(status.error(), schedule.ranks)) << what;
    }
    ++(naive ? right : wrong);
  }
  /// Requires enough cases of both kinds.
  void finish() const {
    std::printf("seed %lu: %ld still right, %ld refused\n", kSeed, right,
                wrong);
    EXPECT_GT(right, wrong / 20);
    EXPECT_GT(wrong, right);
  }

private:
  int64_t right = 0, wrong = 0;
};

} // namespace

TEST(Mutations, VerifierAgreesWithTheNaiveSimulator) {
  Draw draw(kSeed);
  Trial trial;
  for (const Sample &sample : sampleSchedules()) {
    StageGraph graph =
        chainGraph(sample.schedule.stages, sample.problem.forwardOnly);
    ASSERT_TRUE(verify(sample.schedule, graph, sample.problem)) << sample.name;
    for (int i = 0; i < kMutations && !HasFatalFailure(); ++i) {
      Schedule schedule = sample.schedule;
      if (i % 4 == 0 && !sample.problem.forwardOnly)
        recomputeSome(schedule, draw);
      for (int64_t steps = draw.whole(1, 3); steps > 0; --steps)
        damage(schedule.ranks, draw,
               [&](Action &action) { renumber(action, draw); });
      trial.agree(schedule, verify(schedule, graph),
                  runNaively(schedule, sample.problem).has_value(),
                  sample.name + ", mutation " + std::to_string(i));
    }
  }
  trial.finish();
}

TEST(Mutations, TransferVerifierAgreesWithTheNaiveSimulator) {
  Draw draw(kSeed);
  Trial trial;
  for (const Sample &sample : sampleSchedules()) {
    Result<TorchLists> made = insertTransfers(sample.schedule);
    ASSERT_TRUE(made) << sample.name;
    ASSERT_TRUE(verify(*made)) << sample.name;
    ASSERT_TRUE(finishesNaively(*made)) << sample.name;
    for (int i = 0; i < kListMutations && !HasFatalFailure(); ++i) {
      TorchLists lists = *made;
      for (int64_t steps = draw.whole(1, 3); steps > 0; --steps)
        damage(lists.ranks, draw, [&](TorchEntry &entry) {
          renumber(entry.action, draw);
          if (entry.op != TorchOp::Compute) {
            entry.action.paired = false;
            entry.action.kind = entry.action.kind == ActionKind::Forward
                                    ? ActionKind::Forward
                                    : ActionKind::InputGradient;
          }
        });
      trial.agree(lists, verify(lists), finishesNaively(lists),
                  sample.name + ", mutation " + std::to_string(i));
    }
  }
  trial.finish();
}
