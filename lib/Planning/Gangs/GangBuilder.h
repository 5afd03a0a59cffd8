//===- GangBuilder.h - builds the problem of gangs --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. GangTimes.cpp has the seconds of GangProblem.h, and
// GangMemory.cpp the bytes, which are those of one shard, the chosen one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_GANGS_GANGBUILDER_H
#define STAGEWRIGHT_LIB_PLANNING_GANGS_GANGBUILDER_H

#include "Gangs/GangCluster.h"
#include "stagewright/Planning/GangProblem.h"
#include <algorithm>
#include <optional>

namespace stagewright {

/// The members of GangProblems.
enum class GangTimes { Most, Least, Compute };

/// By level: the number of its layer of the gang, if these layers end at
/// `ends`.
std::vector<int64_t> layersByLevel(const std::vector<size_t> &ends);

/// Builds the problem of the gangs.
class GangBuilder {
public:
  GangBuilder(const Problem &fine, const Network &network,
              const ShardedLayers &sharded, GangTimes kind)
      : fine(fine), network(network), sharded(sharded), kind(kind),
        ways(sharded.ways), gangs(gangCluster(fine.cluster, network, ways,
                                              kind != GangTimes::Most)) {}

  Problem build();

private:
  /// Forward, input gradient and weight gradient.
  static constexpr size_t kPhases = 3;
  static size_t numberOf(ActionKind phase) {
    return phase == ActionKind::Forward         ? 0
           : phase == ActionKind::InputGradient ? 1
                                                : 2;
  }
  /// What a device of a gang does in one level.
  struct Cell {
    size_t level, shard;
  };
  size_t at(const Cell &cell) const { return cell.level * ways + cell.shard; }
  const ShardedLayers::Place &placeOf(int64_t layer) const {
    return sharded.places[size_t(layer)];
  }
  /// The layer of the gang that has `layer`.
  int64_t layerOf(int64_t layer) const { return ofLevel[placeOf(layer).level]; }

  void chooseShard();
  void collectMessages();
  void addLayers();
  double waitOf(const Cell &cell, size_t phase) const;
  double secondsOf(size_t level, size_t phase, const std::vector<size_t> &own,
                   int64_t recompute) const;
  bool isAt(const LayerPhase &use, int64_t recompute) const;
  uint32_t levelsOf(const LayerPhase &use) const;
  std::vector<Bytes> localsAt(int64_t recompute) const;
  void addWholeLevel(Layer &layer, size_t first, size_t end) const;
  std::vector<Bytes> ringsOf(int64_t recompute) const;
  void addRings();
  void readAgain();
  /// The recomputation level at which a layer of the gang repeats its whole
  /// forward; none if there is none.
  std::optional<size_t> wholeLevel(int64_t layer) const;
  bool addUse(LayerValue &own, const LayerPhase &use);
  void addMessage(const LayerValue &value);
  void addKept(const LayerValue &value);
  void addValues();
  void addResidents();

  const Problem &fine;
  const Network &network;
  const ShardedLayers &sharded;
  GangTimes kind;
  size_t ways;
  GangCluster gangs;
  std::vector<int64_t> ofLevel;            ///< By level: the layer of the gang.
  std::vector<std::vector<int64_t>> cells; ///< By level and shard: its layers.
  /// By phase, level and shard: bytes from each shard.
  std::vector<std::vector<int64_t>> messages[kPhases];
  std::vector<std::vector<Bytes>> locals;    ///< localsAt(), by its argument.
  std::vector<std::optional<size_t>> wholes; ///< wholeLevel() by layer.
  std::vector<Layer> again; ///< The layers of ShardedLayers::again, if any.
  std::vector<Bytes> againRings; ///< Their ringsOf().
  size_t chosen = 0; ///< The shard whose bytes count: it holds the most.
  Problem result;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_GANGS_GANGBUILDER_H
