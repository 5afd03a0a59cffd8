//===- Anneal.cpp - simulated annealing of a plan -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/SearchRun.h"
#include "stagewright/Planning/Metropolis.h"
#include <limits>

namespace stagewright {

/// The energy is the logarithm of the time, so a temperature is the relative
/// rise that is accepted with probability 1/e.
static constexpr double kFirst = 0.2, kLast = 0.002;
/// With every request in a row for a plan that is already evaluated, the
/// temperature rises linearly, so that the search reaches other plans; after
/// this many requests it is doubled. Such requests cost no evaluation.
static constexpr double kRepeats = 100;

void searchAnneal(SearchRun &run) {
  run.evaluateReferences();
  Decisions plan =
      run.plan().empty() ? run.space.references().front() : run.plan();
  double time = run.time(plan);
  while (!run.isOver()) {
    Decisions next = run.space.neighbour(plan, run.random);
    double changed = run.time(next);
    // While the current plan cannot run, every neighbour is accepted.
    bool isLost = std::isinf(time);
    double change = isLost ? 0 : std::log(changed / time);
    if (std::isinf(changed) && !isLost)
      continue;
    double temperature = run.beta() > 0
                             ? 1 / run.beta()
                             : temperatureAt(run.spent(), kFirst, kLast) *
                                   (1 + double(run.known()) / kRepeats);
    if (!accepts(change, temperature, run.random))
      continue;
    plan = std::move(next);
    time = changed;
  }
}

} // namespace stagewright
