//===- ShardLevels.cpp - levels of layers that are split ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardLevels.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Planning/Planners.h"
#include "llvm/ADT/StringMap.h"
#include <limits>
#include <map>
#include <optional>

namespace stagewright {

/// Sets the bytes that cross the end of each level: every value once for each
/// shard that reads it on the other side of the end. `places`: level and shard
/// by layer.
static void countBytes(const Problem &problem,
                       ArrayRef<std::pair<size_t, size_t>> places,
                       std::vector<ShardLevel> &levels) {
  // By level: how many more bytes cross its end than that of the one before.
  std::vector<int64_t> changes(levels.size());
  for (const LayerValue &value : problem.values) {
    size_t made = places[size_t(value.producer.layer)].first;
    std::map<size_t, std::pair<size_t, size_t>> reach; // By shard: levels.
    for (const LayerPhase &use : value.uses) {
      auto [level, shard] = places[size_t(use.layer)];
      auto &[low, high] = reach.try_emplace(shard, made, made).first->second;
      low = std::min(low, level);
      high = std::max(high, level);
    }
    for (const auto &[shard, range] : reach) {
      changes[range.first] += value.bytes.value;
      changes[range.second] -= value.bytes.value;
    }
  }
  int64_t bytes = 0;
  for (auto [level, change] : llvm::zip(levels, changes))
    level.bytes = bytes += change;
}

/// Planners end no stage where another end at most this many levels away has
/// less than half of the bytes. From a head to the next one are three levels:
/// the head, its tail and a level that ends no stage.
static constexpr size_t kNearby = 3;

static void dropWideEnds(std::vector<ShardLevel> &levels) {
  std::vector<bool> keeps;
  for (size_t i = 0; i < levels.size(); ++i) {
    bool isWide = false;
    size_t end = std::min(levels.size(), i + kNearby + 1);
    for (size_t j = i < kNearby ? 0 : i - kNearby; j < end; ++j)
      isWide |= levels[j].canEnd && 2 * levels[j].bytes < levels[i].bytes;
    keeps.push_back(!isWide);
  }
  for (auto [level, keep] : llvm::zip(levels, keeps))
    level.canEnd &= bool(keep);
}

/// Whether a layer of `level` or of its tail, the next one, reads a value that
/// another shard makes in one of the two. They are then separate stages: in one
/// stage, each shard would wait for the other.
static bool waitsInside(const Problem &problem,
                        ArrayRef<std::pair<size_t, size_t>> places,
                        size_t level) {
  return llvm::any_of(problem.values, [&](const LayerValue &value) {
    auto [from, shard] = places[size_t(value.producer.layer)];
    return (from == level || from == level + 1) &&
           llvm::any_of(value.uses, [&](const LayerPhase &use) {
             auto [to, other] = places[size_t(use.layer)];
             return (to == level || to == level + 1) && other != shard;
           });
  });
}

namespace {
/// Inserts the levels that pipeline-repeat-layers has added to a graph.
class RepeatedLevels {
public:
  RepeatedLevels(pipeline::GraphOp graph, const Problem &problem);

  bool any() const { return !numbers.empty(); }
  std::vector<ShardLevel> insertInto(const std::vector<ShardLevel> &levels);

private:
  /// The number of the layer that repeats `layer`, or that repeats the first
  /// repeated layer of `level`.
  std::optional<size_t> numberOf(size_t layer);
  std::optional<size_t> numberOf(const ShardLevel &level);
  ShardLevel repeated(const ShardLevel &level);
  /// Adds the levels that repeat those of `open`, the last one first.
  void close();

  pipeline::GraphOp graph;
  const Problem &problem;
  llvm::StringMap<size_t> numbers; ///< Repeating layer, by the repeated one.
  std::vector<bool> isEmpty;       ///< By layer: it has no node.
  std::vector<ShardLevel> all;
  std::vector<ShardLevel> open; ///< Levels that are repeated further on.
  size_t firstOpen = 0;         ///< The place of the first of them in `all`.
};
} // namespace

RepeatedLevels::RepeatedLevels(pipeline::GraphOp graph, const Problem &problem)
    : graph(graph), problem(problem), isEmpty(graph.getNumLayers(), true) {
  for (auto [number, name] : llvm::enumerate(graph.getLayers())) {
    StringRef text = cast<StringAttr>(name).getValue();
    if (text.consume_back(pipeline::PipelineDialect::kAgainSuffix))
      numbers[text] = number;
  }
  for (auto node : graph.getBody().front().getOps<pipeline::NodeOp>())
    isEmpty[node.getLayer()] = false;
}

std::optional<size_t> RepeatedLevels::numberOf(size_t layer) {
  auto found = numbers.find(graph.getLayerName(int64_t(layer)));
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<size_t> RepeatedLevels::numberOf(const ShardLevel &level) {
  for (const std::vector<size_t> &layers : level.layers)
    for (size_t layer : layers)
      if (std::optional<size_t> number = numberOf(layer))
        return number;
  return std::nullopt;
}

ShardLevel RepeatedLevels::repeated(const ShardLevel &level) {
  ShardLevel own;
  own.again = true;
  for (const std::vector<size_t> &layers : level.layers) {
    std::vector<size_t> &made = own.layers.emplace_back();
    Seconds seconds;
    for (size_t layer : llvm::reverse(layers)) {
      std::optional<size_t> number = numberOf(layer);
      if (!number) // A graph in the input may repeat some shards only.
        continue;
      made.push_back(*number);
      seconds += problem.layers[made.back()].times[0].total();
    }
    own.seconds = std::max(own.seconds, seconds);
  }
  return own;
}

void RepeatedLevels::close() {
  if (open.empty())
    return;
  ShardLevel end = all.back();
  // Repeats must be in the stage of what they repeat.
  for (ShardLevel &level : llvm::drop_begin(all, firstOpen))
    level.mayEnd = level.canEnd = false;
  // Whether the repeat that was added last is of the tail of this level.
  bool joins = false;
  for (const ShardLevel &level : llvm::reverse(open)) {
    ShardLevel own = repeated(level);
    auto hasAll = [](const auto &layers) { return !layers.empty(); };
    bool hasNode = llvm::all_of(own.layers, hasAll) &&
                   llvm::any_of(own.layers, [&](const auto &layers) {
                     return llvm::any_of(
                         layers, [&](size_t layer) { return !isEmpty[layer]; });
                   });
    own.joinsHead = std::exchange(joins, level.joinsHead && hasNode);
    if (hasNode)
      all.push_back(std::move(own));
    else // A level needs a node, and a layer of every shard; if it lacks one of
         // these, its layers join the level before.
      for (auto [layers, more] : llvm::zip_equal(all.back().layers, own.layers))
        layers.insert(layers.end(), more.begin(), more.end());
  }
  all.back().mayEnd = end.mayEnd;
  all.back().canEnd = end.canEnd;
  open.clear();
}

std::vector<ShardLevel>
RepeatedLevels::insertInto(const std::vector<ShardLevel> &levels) {
  for (const ShardLevel &level : levels) {
    size_t first = level.layers.front().front();
    bool follows = !open.empty() && *numberOf(open.back()) < first;
    if (follows)
      close();
    all.push_back(level);
    all.back().joinsHead &= !follows;
    if (!numberOf(level))
      continue;
    if (open.empty())
      firstOpen = all.size() - 1;
    open.push_back(level);
  }
  close();
  return std::move(all);
}

std::vector<ShardLevel> levelsOf(pipeline::GraphOp graph,
                                 const Problem &problem, int64_t ways) {
  struct Stage {
    SmallVector<size_t> layers;
    Seconds seconds;
    pipeline::ShardPlace place;
  };
  std::vector<Stage> stages;
  for (auto [number, name] : llvm::enumerate(graph.getLayers())) {
    pipeline::ShardPlace place =
        pipeline::shardPlaceOf(cast<StringAttr>(name).getValue());
    if (place.again)
      continue;
    if (stages.empty() || int64_t(stages.size()) % ways == place.shard)
      stages.push_back({{}, Seconds(), place});
    stages.back().layers.push_back(number);
    stages.back().seconds += problem.layers[number].times[0].total();
  }
  while (int64_t(stages.size()) > ways && stages.size() % size_t(ways) != 0) {
    Stage last = std::move(stages.back());
    stages.pop_back();
    llvm::append_range(stages.back().layers, last.layers);
    stages.back().seconds += last.seconds;
  }
  std::vector<ShardLevel> levels;
  int64_t before = -1; // The number of the level before.
  for (auto [number, stage] : llvm::enumerate(stages)) {
    if (number % size_t(ways) == 0) {
      bool isTail = stage.place.tail && stage.place.level == before;
      bool mayEnd = stage.place.isWhole() && !isTail;
      levels.push_back(
          {.joinsHead = isTail, .mayEnd = mayEnd, .canEnd = mayEnd});
      before = stage.place.level;
    }
    levels.back().layers.emplace_back(stage.layers.begin(), stage.layers.end());
    levels.back().seconds = std::max(levels.back().seconds, stage.seconds);
  }
  if (RepeatedLevels again(graph, problem); again.any())
    levels = again.insertInto(levels);
  std::vector<std::pair<size_t, size_t>> places(problem.layers.size());
  for (auto [number, level] : llvm::enumerate(levels))
    for (auto [shard, layers] : llvm::enumerate(level.layers))
      for (size_t layer : layers)
        places[layer] = {number, shard};
  for (size_t level = 1; level < levels.size(); ++level)
    levels[level].joinsHead =
        levels[level].joinsHead && !waitsInside(problem, places, level - 1);
  countBytes(problem, places, levels);
  levels.back().mayEnd = levels.back().canEnd = false; // Nothing follows.
  dropWideEnds(levels);
  return levels;
}

/// Emits a remark if a shard of `stage` has no layers in any of its `levels`.
static void checkIdle(pipeline::GraphOp graph, int64_t stage, int64_t ways,
                      const std::map<int64_t, ShardLevel> &levels) {
  for (int64_t shard = 0; shard < ways; ++shard) {
    bool works = llvm::any_of(levels, [&](const auto &level) {
      return !level.second.layers[size_t(shard)].empty();
    });
    if (works)
      continue;
    emitRemark(graph.getLoc())
        << "stage " << stage << " has " << ways << " shards, but shard "
        << shard << " computes nothing that is needed, since other shards have "
        << "the same whole values; give the stage fewer shards, or split its "
        << "layers otherwise";
    return;
  }
}

FailureOr<std::vector<ShardLevel>> levelsOf(pipeline::GraphOp graph,
                                            ArrayRef<int64_t> ways) {
  // By stage and number of the level.
  std::vector<std::map<int64_t, ShardLevel>> numbered(ways.size());
  for (auto [layer, name] : llvm::enumerate(graph.getLayers())) {
    pipeline::ShardPlace place =
        pipeline::shardPlaceOf(cast<StringAttr>(name).getValue());
    bool isStage = place.stage < int64_t(ways.size());
    if (!isStage || place.shard >= ways[size_t(place.stage)])
      return emitError(graph.getLoc())
             << "layer " << name << " is of shard " << place.shard
             << " of stage " << place.stage << ", which "
             << (isStage ? "has " + std::to_string(ways[size_t(place.stage)]) +
                               " shards"
                         : "is not among " + std::to_string(ways.size()) +
                               " stages")
             << "; give the numbers of shards for which the graph was formed";
    ShardLevel &own = numbered[size_t(place.stage)][place.level];
    own.stage = place.stage;
    own.layers.resize(size_t(ways[size_t(place.stage)]));
    own.layers[size_t(place.shard)].push_back(layer);
  }
  std::vector<ShardLevel> levels;
  for (auto [stage, own] : llvm::enumerate(numbered)) {
    if (own.empty())
      return emitError(graph.getLoc())
             << "numbers of shards are given for " << ways.size()
             << " stages, but no layer of the graph is of stage " << stage
             << "; give the numbers of shards for which the graph was formed";
    checkIdle(graph, int64_t(stage), ways[stage], own);
    for (auto &[number, level] : own)
      levels.push_back(std::move(level));
  }
  return levels;
}

std::vector<size_t> endsOfStages(const std::vector<ShardLevel> &levels) {
  std::vector<size_t> ends;
  for (size_t level = 1; level < levels.size(); ++level)
    if (levels[level].stage != levels[level - 1].stage)
      ends.push_back(level);
  ends.push_back(levels.size());
  return ends;
}

ShardedLayers placesOf(const std::vector<ShardLevel> &levels, int64_t ways,
                       const Problem &problem) {
  ShardedLayers sharded;
  sharded.ways = size_t(ways);
  sharded.places.resize(problem.layers.size());
  for (auto [number, level] : llvm::enumerate(levels))
    for (auto [shard, own] : llvm::enumerate(level.layers))
      for (size_t layer : own)
        sharded.places[layer] = {number, shard};
  return sharded;
}

ShardedLayers shardedLayersOf(const std::vector<ShardLevel> &levels,
                              int64_t ways, const Problem &problem) {
  ShardedLayers sharded = placesOf(levels, ways, problem);
  for (auto [number, level] : llvm::enumerate(levels))
    if (level.canEnd || number + 1 == levels.size())
      sharded.ends.push_back(number + 1);
  joinToChain(problem, sharded);
  return sharded;
}

Result<std::vector<size_t>> cutLevels(const std::vector<ShardLevel> &levels,
                                      int64_t stages) {
  std::vector<size_t> ends; // By layer of `problem`: the level after it.
  Problem problem;
  for (size_t level = 0; level < levels.size(); ++level) {
    if (ends.empty() || levels[level - 1].canEnd) {
      problem.layers.push_back({std::to_string(level), {{}}});
      ends.push_back(level);
    }
    problem.layers.back().times[0].forward += levels[level].seconds;
    ends.back() = level + 1;
  }
  if (int64_t(ends.size()) < stages)
    return Error{"layers that are split over shards cannot be cut into " +
                 std::to_string(stages) + " stages, but into " +
                 std::to_string(ends.size()) +
                 " at most; give fewer with --stages"};
  if (stages == 1)
    return std::vector<size_t>{levels.size()};
  problem.cluster = *localCluster(stages);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(std::numeric_limits<int64_t>::max() / 2);
  problem.stages = stages;
  problem.forwardOnly = true;
  Result<Plan> plan = planBalance(problem);
  if (!plan)
    return plan.error();
  std::vector<size_t> cut;
  for (const StagePlan &stage : plan->stages)
    cut.push_back(ends[size_t(stage.layers.back())]);
  return cut;
}

} // namespace stagewright
