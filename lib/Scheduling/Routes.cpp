//===- Routes.cpp - the ways of microbatches over ranks -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Routes.h"
#include <algorithm>

namespace stagewright {

std::vector<Route> routesOf(const Schedule &schedule) {
  std::vector<std::vector<Stop>> all(
      size_t(schedule.microbatches),
      std::vector<Stop>(size_t(schedule.stages)));
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action &action : schedule.ranks[rank]) {
      if (action.kind == ActionKind::Update)
        continue;
      Stop &stop = all[size_t(action.microbatch)][size_t(action.stage)];
      stop.rank = int64_t(rank);
      stop.recomputes |= action.kind == ActionKind::Recompute;
    }
  std::vector<Route> routes;
  for (int64_t m = 0; m < schedule.microbatches; ++m) {
    std::vector<Stop> &stops = all[size_t(m)];
    auto route =
        std::find_if(routes.begin(), routes.end(),
                     [&](const Route &known) { return known.stops == stops; });
    if (route == routes.end())
      route = routes.insert(routes.end(), {std::move(stops), {}});
    route->microbatches.push_back(m);
  }
  return routes;
}

} // namespace stagewright
