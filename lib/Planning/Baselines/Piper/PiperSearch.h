//===- PiperSearch.h - Piper's dynamic program ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. dp[I][k][s] is the least possible maximum cost of a
// stage if the layers outside the downset I are placed on k devices, with at
// most s replicas in all their stages. With N microbatches,
//
//   dp[I][k][s] = min over downsets J above I, t ways, d | N replicas of
//                 max( dp[J][k - d t][s - d], cost(J \ I, t, d, ceil(s/d)) )
//
// cost rises with s, and dp falls with k and s, so dp[I][k] is stored as the
// few s at which it falls. Time O(P W D K F) for P pairs of downsets, W numbers
// of ways, D divisors of N, K devices and F falls.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PIPERSEARCH_H
#define STAGEWRIGHT_PLANNING_PIPERSEARCH_H

#include "Piper/PiperStage.h"

namespace stagewright {

/// A set of layers.
using LayerSet = std::vector<bool>;

/// What the search may use.
struct PiperLimits {
  int64_t devices = 1, replicas = 1; ///< K, and the max d.
  int64_t stages = 0;                ///< Exact number; 0: any number.
};

/// One stage of the answer.
struct PiperPick {
  std::vector<int64_t> layers;
  int64_t ways = 1, replicas = 1;
  int64_t inFlight = 1; ///< ceil(s/d).
};

class PiperSearch {
public:
  enum class Objective { Seconds, Bytes };

  /// `downsets`: sets closed under predecessors, each before its supersets; the
  /// first is empty, the last full. Stages that cost more than `cutoff` are
  /// skipped.
  PiperSearch(const PiperModel &model, const std::vector<LayerSet> &downsets,
              PiperLimits limits, Objective objective, double cutoff);

  /// The least possible maximum over stages; infinite if there is no plan.
  double best() const;
  /// The stages of a plan with that value, the first stage first. Ties go to
  /// the fewest devices, then the smallest first stage, then the fewest ways
  /// and replicas.
  std::vector<PiperPick> stages() const;

private:
  /// The value for `replicas` and more, up to the next fall.
  struct Fall {
    int64_t replicas;
    double value;
  };
  using Falls = std::vector<Fall>; ///< Replicas rise, values fall.
  /// Values at k * (mostReplicas + 1) + s, for the downset being solved.
  using Grid = std::vector<double>;

  void solve(size_t from);
  void extend(const std::vector<Falls> &rest, const std::vector<double> &cost,
              int64_t ways, int64_t d, Grid &grid) const;
  std::vector<Falls> compress(Grid &grid) const;
  std::vector<double> costOf(const PiperStage &stage, int64_t d) const;
  /// The entry for at most `devices` and `replicas`; infinite if nothing fits.
  Fall fallAt(size_t level, size_t downset, int64_t devices,
              int64_t replicas) const;
  PiperPick step(size_t &level, size_t &downset, int64_t &devices,
                 int64_t &replicas) const;
  /// Calls visit(to, layers, stage, ways, d) for every stage that may follow
  /// downset `from`, until it returns true.
  template <typename Visit> void forEachStage(size_t from, Visit visit) const;

  const PiperModel &model;
  const std::vector<LayerSet> &downsets;
  PiperLimits limits;
  Objective objective;
  double cutoff;
  int64_t mostReplicas; ///< S = min(N, K).
  /// falls[level][downset][k]; a level for each number of stages left, or one
  /// level if any number is allowed.
  std::vector<std::vector<std::vector<Falls>>> falls;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PIPERSEARCH_H
