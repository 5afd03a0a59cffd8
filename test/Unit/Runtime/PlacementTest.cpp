//===- PlacementTest.cpp - assignment of ranks to processes ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Placement.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;

namespace {

using Ranks = std::vector<int64_t>;

/// A plan with a rank on each of these hosts.
Manifest planOn(const std::vector<int64_t> &hosts) {
  Manifest manifest;
  for (int64_t host : hosts)
    manifest.ranks.emplace_back().host = host;
  return manifest;
}

std::string errorOf(const std::vector<int64_t> &plan,
                    const std::vector<std::string> &launch) {
  try {
    placeRanks(planOn(plan), launch, false);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Placement, OneHostInOrder) {
  EXPECT_EQ(placeRanks(planOn({0, 0, 0}), {"a", "a", "a"}, false),
            (Ranks{0, 1, 2}));
}

TEST(Placement, RanksFollowTheirHosts) {
  // srun assigns processes to hosts in turn; the plan fills one host first.
  EXPECT_EQ(placeRanks(planOn({0, 0, 1, 1}), {"a", "b", "a", "b"}, false),
            (Ranks{0, 2, 1, 3}));
  // The opposite case.
  EXPECT_EQ(placeRanks(planOn({0, 1, 0, 1}), {"a", "a", "b", "b"}, false),
            (Ranks{0, 2, 1, 3}));
}

TEST(Placement, HostsOfUnequalSizeFindEachOther) {
  EXPECT_EQ(placeRanks(planOn({3, 7, 7, 7}), {"a", "a", "a", "b"}, false),
            (Ranks{1, 2, 3, 0}));
}

TEST(Placement, AnyHostsTakesThemInOrder) {
  EXPECT_EQ(placeRanks(planOn({0, 1}), {"a", "a"}, true), (Ranks{0, 1}));
}

TEST(Placement, AWrongCountNamesBoth) {
  EXPECT_EQ(errorOf({0, 0}, {"a", "a", "a"}),
            "the plan has 2 ranks, but 3 processes were started; start 2 "
            "(mpirun -n 2, srun -n 2), or run the ranks as threads of one with "
            "--transport=threads");
  EXPECT_NE(errorOf({0, 0}, {"a"}).find("but 1 process was started"),
            std::string::npos);
}

TEST(Placement, AWrongLayoutNamesBoth) {
  std::string error = errorOf({0, 0, 1, 1}, {"a", "b", "b", "b"});
  EXPECT_EQ(error.find("the plan's ranks lie on 2 hosts (2 + 2), but the "
                       "processes were started on 2 hosts (1 + 3); place them"),
            0u)
      << error;
  EXPECT_EQ(errorOf({0, 0}, {"a", "b"})
                .find("the plan's ranks lie on 1 host (2), but the processes "
                      "were started on 2 hosts (1 + 1)"),
            0u);
}

} // namespace
