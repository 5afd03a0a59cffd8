//===- Routes.h - the ways of microbatches over ranks -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replicas that take turns, twins and forwards that run again for some
// microbatches only make microbatches differ. Those that do not differ are of
// one route: they share code, and the slots of rings.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_ROUTES_H
#define STAGEWRIGHT_SCHEDULING_ROUTES_H

#include "stagewright/Scheduling/Schedule.h"

namespace stagewright {

/// How one microbatch runs on one stage.
struct Stop {
  int64_t rank = -1;
  bool recomputes = false; ///< Its forward runs again.

  friend bool operator==(const Stop &, const Stop &) = default;
};

struct Route {
  std::vector<Stop> stops;           ///< By stage.
  std::vector<int64_t> microbatches; ///< In increasing order.
};

/// The routes of `schedule`, by their first microbatches. Exactly one rank runs
/// a given microbatch on a given stage. O(actions * routes).
std::vector<Route> routesOf(const Schedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_ROUTES_H
