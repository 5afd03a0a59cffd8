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
/// Known plans in a row that raise the temperature by its own value, until the
/// search leaves them. Their energies cost no evaluation.
static constexpr double kCalm = 100;

void searchAnneal(SearchRun &run) {
  run.evaluateReferences();
  Decisions plan =
      run.plan().empty() ? run.space.references().front() : run.plan();
  double time = run.time(plan);
  while (!run.isOver()) {
    Decisions next = run.space.neighbour(plan, run.random);
    double changed = run.time(next);
    // Plans that cannot run are crossed until one is found that can.
    bool isLost = std::isinf(time);
    double change = isLost ? 0 : std::log(changed / time);
    if (std::isinf(changed) && !isLost)
      continue;
    double temperature = run.beta() > 0
                             ? 1 / run.beta()
                             : temperatureAt(run.spent(), kFirst, kLast) *
                                   (1 + double(run.known()) / kCalm);
    if (!accepts(change, temperature, run.random))
      continue;
    plan = std::move(next);
    time = changed;
  }
}

} // namespace stagewright
