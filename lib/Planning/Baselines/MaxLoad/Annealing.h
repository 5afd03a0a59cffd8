//===- Annealing.h - moves nodes between devices ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder.
//
// The published local search takes the best move of one node until none helps,
// from ten random assignments. But most moves do not change the maximum load,
// since they do not involve the device that has it. Here moves are judged by
// the sum of high powers of all loads, plus a little for each forward edge
// between two devices, and accepted as in simulated annealing. At the end the
// best move or exchange of nodes is taken until none lowers the maximum; of
// equal ones that with the least sum of squares. Then stages are joined as long
// as the maximum does not rise. The load does not include how long a microbatch
// takes through all stages, so equal loads are compared by simulation.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_ANNEALING_H
#define STAGEWRIGHT_PLANNING_ANNEALING_H

#include "MaxLoad/LoadAssignment.h"
#include "stagewright/Planning/Metropolis.h"

namespace stagewright {

class Annealing {
public:
  Annealing(const Problem &problem, const LoadGraph &graph,
            const std::vector<size_t> &order, double scale, uint64_t seed)
      : problem(problem), graph(graph), order(order), scale(scale),
        random(seed) {}

  /// The best assignment found from `start`.
  std::vector<size_t> improve(std::vector<size_t> start, bool anneal);
  /// A random assignment; nodes with consecutive numbers are likely together.
  std::vector<size_t> randomStart();

private:
  double energy(double load) const;
  bool tryMove(LoadAssignment &loads, double temperature);
  bool climb(LoadAssignment &loads) const;
  bool join(LoadAssignment &loads, double most) const;

  const Problem &problem;
  const LoadGraph &graph;
  const std::vector<size_t> &order;
  double scale; ///< About the load to be reached.
  SearchRandom random;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_ANNEALING_H
