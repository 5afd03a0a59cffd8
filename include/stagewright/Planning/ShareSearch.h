//===- ShareSearch.h - shares of replicas by real arenas --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds shares of replicas with which every rank's arena fits in the memory of
// its device. An arena is known once a plan has been lowered. It grows with the
// samples of the replica; where it exchanges values with other replicas that
// share samples, it also depends a little on their shares, since values are
// split and joined at other places.
//
// A best-first search: from shares that do not fit, it moves one sample away
// from a replica that lacks memory or, if little is missing, between replicas
// of its stage or of a stage with which it exchanges values. If replicas
// exchange values only within their own stage, this reaches all shares that
// fit: compared with them, a replica that lacks memory has more samples and
// another replica of its stage has fewer, so some move brings the shares
// closer.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_SHARESEARCH_H
#define STAGEWRIGHT_PLANNING_SHARESEARCH_H

#include "stagewright/Planning/Evaluate.h"
#include <functional>
#include <map>
#include <set>

namespace stagewright {

/// By stage: the samples of each replica; none if they share no microbatch.
using Shares = std::vector<std::vector<int64_t>>;
/// By stage and replica: the arena of its rank.
using Arenas = std::vector<std::vector<int64_t>>;

class ShareSearch {
public:
  /// Lowers a plan with these shares; fails if that is not possible.
  using Lower = std::function<std::optional<Arenas>(const Shares &)>;

  /// `plan` has the first shares to try. `isStated`: by stage, whether they may
  /// not change.
  ShareSearch(const Problem &problem, const Plan &plan,
              std::vector<bool> isStated, Lower lower);

  /// Shares that fit, or none if none are found; then error() has the reason,
  /// provided that the first shares can be lowered.
  std::optional<Shares> run();
  std::string error() const;

private:
  struct Rank {
    size_t stage, replica;
  };
  /// What is known about the arenas of some shares.
  struct Fit {
    double over = 0;           ///< Bytes that are missing, estimated.
    bool isKnown = true;       ///< Whether all arenas have been seen.
    std::vector<Rank> lacking; ///< Ranks that are known not to fit.
  };
  using Key = std::vector<int64_t>;

  int64_t memoryOf(const Rank &rank) const;
  int64_t samplesOf(const Shares &shares, const Rank &rank) const;
  Key keyOf(const Shares &shares, const Rank &rank) const;
  double estimateOf(const Rank &rank, int64_t samples) const;
  Fit fitOf(const Shares &shares) const;
  double secondsOf(const Shares &shares) const;
  void note(const Shares &shares, const Arenas &arenas);
  void add(Shares shares);
  void addMoves(const Shares &shares, size_t stage,
                std::optional<size_t> giver);
  void addNext(const Shares &shares, const Fit &fit);

  const Problem &problem;
  const Plan &plan;
  std::vector<bool> isStated;
  Lower lower;
  /// By stage: the other stages with shares with which it exchanges values.
  std::vector<std::set<size_t>> linked;
  /// By stage and replica: seconds of a whole microbatch.
  std::vector<std::vector<double>> seconds;
  std::map<Key, int64_t> arenas;
  /// By stage, replica and samples: the least arena seen.
  std::map<std::pair<size_t, size_t>, std::map<int64_t, int64_t>> least;
  std::set<std::tuple<double, double, Shares>> open;
  std::set<Shares> seen;
  bool dropsSome = false;  ///< Some shares could not be lowered.
  bool isComplete = false; ///< All moves have been tried.
  /// Of the shares tried that lack the least: the rank that lacks most.
  Rank closest = {};
  int64_t closestArena = -1;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_SHARESEARCH_H
