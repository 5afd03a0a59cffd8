//===- Metropolis.h - acceptance in simulated annealing ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What annealing of plans (Search/Anneal.cpp) and of loads of devices
// (Baselines/MaxLoad/Annealing.cpp) share.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_METROPOLIS_H
#define STAGEWRIGHT_PLANNING_METROPOLIS_H

#include "stagewright/Planning/Search.h"
#include <cmath>

namespace stagewright {

/// The temperature when `part` (0 to 1) of a search is done: it falls
/// exponentially from `first` to `last`.
inline double temperatureAt(double part, double first, double last) {
  return first * std::pow(last / first, part);
}

/// Whether to accept a change of the energy: always if it falls, else with the
/// probability exp(-change / temperature). Draws one number in either case, so
/// that equal decisions leave equal random numbers.
inline bool accepts(double change, double temperature, SearchRandom &random) {
  double chance = random.real();
  return change <= 0 || chance < std::exp(-change / temperature);
}

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_METROPOLIS_H
