//===- SearchLogTest.cpp - the evaluations of a search in a file ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchProblems.h"
#include "stagewright/Support/Files.h"
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace stagewright;
using namespace stagewright::testing;

/// A path that no other process uses.
static std::string fileFor(const std::string &name) {
  return ::testing::TempDir() + std::to_string(getpid()) + "-" + name;
}

/// A space of few plans.
struct SmallChain {
  Draw draw{6};
  Problem problem = randomProblem(draw, 5, 3);
  Network network = *Network::create(problem.cluster);
  ChainSpace space{problem, network};
};

TEST(SearchLog, ResumesWhereItEnded) {
  Draw draw(6);
  Problem problem = randomProblem(draw, 14, 9);
  Network network = *Network::create(problem.cluster);
  std::string path = fileFor("search.jsonl");
  for (const char *driver : {"q", "anneal", "random"}) {
    std::filesystem::remove(path);
    Counted whole(problem, network);
    SearchOutcome straight = found(whole, {driver, 80, 0, 1, path});
    // The log of a search that was killed: 30 plans, and half a line.
    std::string text = *readTextFile(path);
    size_t end = 0;
    for (int line = 0; line < 31; ++line)
      end = text.find('\n', end) + 1;
    ASSERT_GT(straight.evaluations, 30) << driver;
    std::ofstream(path) << text.substr(0, end) << "{\"plan\": [0,";
    Counted resumed(problem, network);
    SearchOutcome outcome = found(resumed, {driver, 80, 0, 1, path});
    EXPECT_EQ(outcome.plan, straight.plan);
    EXPECT_EQ(outcome.evaluations, straight.evaluations);
    // The fastest plan of the log is timed again.
    EXPECT_EQ(resumed.calls, outcome.evaluations - 30 + 1);
  }
}

static void expectRefused(const SearchSpace &space, const std::string &path,
                          const std::string &reason) {
  Result<SearchOutcome> outcome = search(space, {"random", 5, 0, 1, path});
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find(reason), std::string::npos)
      << outcome.error().message;
}

TEST(SearchLog, KeepsFilesThatAreNoLogs) {
  SmallChain chain;
  std::string path = fileFor("precious.txt");
  std::ofstream(path) << "precious";
  EXPECT_FALSE(search(chain.space, {"random", 5, 0, 1, path}));
  EXPECT_EQ(*readTextFile(path), "precious");
}

TEST(SearchLog, RefusesLogsOfOtherSearchesAndOtherLines) {
  SmallChain chain;
  std::string path = fileFor("other.jsonl");
  std::filesystem::remove(path);
  found(chain.space, {"random", 5, 0, 1, path});
  Result<SearchOutcome> other = search(chain.space, {"random", 5, 0, 2, path});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("is the log of another search"),
            std::string::npos);
  std::ofstream(path, std::ios::app) << "{\"plan\": 3}\n";
  expectRefused(chain.space, path, "expected a plan and its seconds");
}

/// Replaces everything behind `key` in the lines of a file.
static void replaceAfter(const std::string &path, const std::string &key,
                         const std::string &value) {
  std::string text = *readTextFile(path), changed;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin), at = text.find(key, begin);
    changed += at < end ? text.substr(begin, at + key.size() - begin) + value
                        : text.substr(begin, end - begin);
    changed += '\n';
    begin = end + 1;
  }
  std::ofstream(path) << changed;
}

TEST(SearchLog, RefusesTimesThatPlansDoNotTake) {
  SmallChain chain;
  std::string path = fileFor("times.jsonl");
  std::filesystem::remove(path);
  found(chain.space, {"random", 5, 0, 1, path});
  replaceAfter(path, "\"seconds\":", "1e-3}");
  expectRefused(chain.space, path, "takes 1 ms there, and here it takes ");
  replaceAfter(path, "\"plan\":", "[0,77,1],\"seconds\":1e-3}");
  expectRefused(chain.space, path, "and here it is no plan");
  replaceAfter(path, "\"seconds\":", "-1}");
  expectRefused(chain.space, path, "expected a plan and its seconds");
}

// Each change changes the time of a plan, or the set of plans.
TEST(SearchLog, IsOfOneProblem) {
  using Change = std::function<void(Problem &)>;
  constexpr ActionKind I = ActionKind::InputGradient;
  // A level has seconds for each of the three device classes.
  auto onAll = [](double seconds) {
    return std::vector<Seconds>(3, Seconds(seconds));
  };
  std::vector<Change> changes = {
      [](Problem &) {},
      [](Problem &p) { p.values[0].producer.layer = 1; },
      [](Problem &p) { p.values[0].producer.phase = I; },
      [](Problem &p) { p.values[0].uses.pop_back(); },
      [](Problem &p) { p.values[0].uses[0].layer = 3; },
      [](Problem &p) { p.values[0].uses[0].phase = I; },
      [](Problem &p) { p.values[0].uses[0].levels = 1; },
      [](Problem &p) { p.values[0].transfer = Seconds(1); },
      [](Problem &p) { p.values[0].bytes = Bytes(1); },
      [](Problem &p) { p.residents[0].layers = {1}; },
      [](Problem &p) { p.residents[0].kind = ResidentKind::Constant; },
      [](Problem &p) { p.layers[0].sliceable = !p.layers[0].sliceable; },
      [](Problem &p) { p.layers[0].temporaries = Bytes(5); },
      [](Problem &p) { p.layers[0].sampleTemporaries = Bytes(5); },
      [&](Problem &p) { p.layers[0].levels = {{onAll(1)}}; },
      [&](Problem &p) { p.layers[0].levels = {{onAll(2)}}; },
      [&](Problem &p) { p.layers[0].levels = {{onAll(1), Bytes(1)}}; },
      [](Problem &p) { p.cluster.devices[0].deviceClass = "third"; },
      [](Problem &p) { p.cluster.devices[0].node = 1; },
      [](Problem &p) { p.cluster.devices[0].hostBandwidth = Bandwidth(1); },
      [](Problem &p) { p.cluster.fabric.nic = Bandwidth(1); },
      [](Problem &p) { p.cluster.fabric.port = Bandwidth(1); },
      [](Problem &p) { p.orders.pop_back(); },
      [](Problem &p) { p.forwardOnly = true; },
      [](Problem &p) { p.wholeBackward = true; },
      [](Problem &p) { p.slotAlignment = 64; },
      [](Problem &p) { p.shards = 2; },
      [](Problem &p) { p.model.sharesRings = true; },
  };
  std::set<uint64_t> digests;
  for (const Change &change : changes) {
    Draw draw(6);
    Problem problem = randomProblem(draw, 5, 3);
    for (Layer &layer : problem.layers)
      layer.times.resize(3, layer.times[0]);
    change(problem);
    Network network = *Network::create(problem.cluster);
    digests.insert(ChainSpace(problem, network).digest());
  }
  EXPECT_EQ(digests.size(), changes.size());
  // Without a change the digest is the same.
  Draw draw(6);
  Problem problem = randomProblem(draw, 5, 3);
  for (Layer &layer : problem.layers)
    layer.times.resize(3, layer.times[0]);
  Network network = *Network::create(problem.cluster);
  EXPECT_TRUE(digests.contains(ChainSpace(problem, network).digest()));
}
