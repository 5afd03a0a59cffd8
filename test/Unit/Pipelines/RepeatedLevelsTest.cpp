//===- RepeatedLevelsTest.cpp - levels that repeat forwards ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs of layers over shards, of which ranges of levels repeat their forward
// as pipeline-repeat-layers names them: n levels of which k are repeated become
// n + k levels, those of a range in reverse order behind it.
//
//===----------------------------------------------------------------------===//

#include "RepeatLevels.h"
#include "ShardStages.h"
#include "mlir/Parser/Parser.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace stagewright;

namespace {
class RepeatedLevels : public testing::TestWithParam<int64_t> {
protected:
  RepeatedLevels() { context.loadDialect<pipeline::PipelineDialect>(); }

  /// The levels of a graph of `count` levels that repeats `ranges`.
  std::vector<ShardLevel> levels(size_t count,
                                 const std::vector<LevelRange> &ranges);
  std::string nameOf(const ShardLevel &level, size_t shard) const {
    std::string all;
    for (size_t layer : level.layers[shard])
      all += names[layer];
    return all;
  }

  MLIRContext context;
  std::vector<std::string> names; ///< Of layers.
};
} // namespace

static std::string name(size_t level, int64_t shard) {
  return "l.t" + std::to_string(2 * level) + ".s" + std::to_string(shard);
}

std::vector<ShardLevel>
RepeatedLevels::levels(size_t count, const std::vector<LevelRange> &ranges) {
  int64_t ways = GetParam();
  names.clear();
  for (size_t level = 0; level < count; ++level) {
    for (int64_t shard = 0; shard < ways; ++shard)
      names.push_back(name(level, shard));
    for (const LevelRange &range : ranges)
      if (level + 1 == range.end)
        for (size_t again = range.end; again-- > range.first;)
          for (int64_t shard = ways; shard-- > 0;)
            names.push_back(name(again, shard) + ".again");
  }
  std::string text = "pipeline.graph @step(%x: tensor<4xf32>) -> "
                     "(tensor<4xf32>) attributes {layers = [\"" +
                     llvm::join(names, "\", \"") + "\"]} {\n";
  for (size_t layer = 0; layer < names.size(); ++layer) {
    bool isAgain = StringRef(names[layer]).ends_with(".again");
    std::string number = std::to_string(layer);
    text += "%v" + number + " = pipeline.node \"" + names[layer] +
            (isAgain ? "\"" : ".F\"") + " @f phase " + (isAgain ? "B" : "F") +
            " layer " + number + " (%x) : (tensor<4xf32>) -> tensor<4xf32>\n";
  }
  text += "pipeline.yield %v0 results [0] : tensor<4xf32>\n}\n";
  // Only names of layers count: nothing reads what the nodes make.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  auto module = parseSourceString<ModuleOp>(text, config);
  EXPECT_TRUE(module) << text;
  if (!module)
    return {};
  Problem problem;
  for (const std::string &layer : names)
    problem.layers.push_back({layer, {{Seconds(1), Seconds(), Seconds()}}});
  return levelsOf(*module->getOps<pipeline::GraphOp>().begin(), problem, ways);
}

TEST_P(RepeatedLevels, WithoutRepeatsEachLevelIsOne) {
  std::vector<ShardLevel> all = levels(5, {});
  ASSERT_EQ(all.size(), 5u);
  for (const ShardLevel &level : all) {
    EXPECT_FALSE(level.again);
    EXPECT_EQ(level.layers.size(), size_t(GetParam()));
  }
}

TEST_P(RepeatedLevels, RepeatedLevelsFollowTheirRangeInReverse) {
  std::vector<ShardLevel> all = levels(6, {{0, 2}, {2, 3}, {4, 5}});
  ASSERT_EQ(all.size(), 6u + 2 + 1 + 1);
  std::vector<std::string> expected;
  for (const char *text : {"0", "2", "2.again", "0.again", "4", "4.again", "6",
                           "8", "8.again", "10"})
    expected.emplace_back(text);
  for (size_t number = 0; number < all.size(); ++number)
    for (int64_t shard = 0; shard < GetParam(); ++shard) {
      auto [level, again] = StringRef(expected[number]).split('.');
      EXPECT_EQ(nameOf(all[number], size_t(shard)),
                ("l.t" + level + ".s" + std::to_string(shard) +
                 (again.empty() ? "" : ".again"))
                    .str());
      EXPECT_EQ(all[number].again, !again.empty());
    }
}

// A stage may end behind the repeats of a range, not inside of it.
TEST_P(RepeatedLevels, NoStageEndsBetweenALevelAndItsRepeat) {
  std::vector<ShardLevel> all = levels(4, {{0, 2}, {2, 3}});
  std::vector<size_t> ends;
  for (size_t number = 0; number < all.size(); ++number)
    if (all[number].mayEnd)
      ends.push_back(number + 1);
  EXPECT_EQ(ends, (std::vector<size_t>{4, 6}));
}

// The stages of a plan without repeats, counted with them: an end moves by the
// repeated levels before it.
TEST_P(RepeatedLevels, StagesHoldTheRepeatsOfTheirLevels) {
  std::vector<ShardLevel> all = levels(6, {{0, 2}, {2, 4}, {4, 5}});
  StagesOfShards plan{{{2, {0}, {}}, {4, {1}, {1, 2}}, {6, {2}, {}}}, "1f1b"};
  StagesOfShards made = withRepeated(plan, all);
  EXPECT_EQ(made.schedule, "1f1b");
  ASSERT_EQ(made.stages.size(), 3u);
  EXPECT_EQ(made.stages[0].end, 2u + 2);
  EXPECT_EQ(made.stages[1].end, 4u + 4);
  EXPECT_EQ(made.stages[2].end, 6u + 5);
  EXPECT_EQ(made.stages[2].groups, (std::vector<size_t>{2}));
  EXPECT_TRUE(made.stages[0].recompute.empty());
  EXPECT_EQ(made.stages[1].recompute, (std::vector<int64_t>{1, 2, 0, 0}));
}

TEST_P(RepeatedLevels, StagesWithoutRepeatsStay) {
  std::vector<ShardLevel> all = levels(3, {});
  StagesOfShards made =
      withRepeated({{{1, {0}, {3}}, {3, {1}, {}}}, "levels"}, all);
  ASSERT_EQ(made.stages.size(), 2u);
  EXPECT_EQ(made.stages[0].end, 1u);
  EXPECT_EQ(made.stages[0].recompute, (std::vector<int64_t>{3}));
  EXPECT_EQ(made.stages[1].end, 3u);
}

INSTANTIATE_TEST_SUITE_P(Shards, RepeatedLevels, testing::Values(2, 3, 4));
