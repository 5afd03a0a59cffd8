//===- Best.cpp - the best schedule found so far --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Best.h"
#include "Search/Seeds.h"
#include <algorithm>

namespace stagewright::search {

/// Max relative difference of two sums of the same times.
static constexpr double kRounding = 1e-9;

static bool less(Seconds a, Seconds b) {
  return a.value < b.value * (1 - kRounding);
}

int64_t irregularityOf(const Schedule &schedule) {
  int64_t count = 0;
  for (const Order &order : schedule.ranks) {
    size_t body = std::max<size_t>(order.size() / schedule.microbatches, 1);
    for (size_t at = body; at < order.size(); ++at) {
      const Action &now = order[at], &before = order[at - body];
      count += now.kind != before.kind || now.stage != before.stage;
    }
  }
  return count;
}

int Best::compare(std::pair<Seconds, Seconds> offered) const {
  if (!found() || less(offered.first, values.first))
    return -1;
  if (less(values.first, offered.first))
    return 1;
  return less(offered.second, values.second)   ? -1
         : less(values.second, offered.second) ? 1
                                               : 0;
}

bool Best::offer(const Schedule &candidate, const std::string &from) {
  Result<Timeline> timed = timeSchedule(candidate, problem);
  if (!timed || !withinMemory(timed->peaks, problem))
    return false;
  auto offered = order(timed->makespan, timed->span);
  int64_t irregular = irregularityOf(candidate);
  int comparison = compare(offered);
  if (comparison > 0 || (comparison == 0 && irregular >= irregularities))
    return false;
  schedule = candidate;
  timing = std::move(*timed);
  origin = from;
  values = offered;
  irregularities = irregular;
  report();
  return true;
}

bool Best::offer(const FastOrders &orders, const FastTimer &timer,
                 const FastProblem &fast, const std::string &from) {
  int comparison = compare(
      order(fast.seconds(timer.makespan()), fast.seconds(timer.span())));
  if (comparison > 0)
    return false;
  Schedule candidate = decode(orders, fast, from);
  if (comparison == 0 && irregularityOf(candidate) >= irregularities)
    return false;
  return offer(candidate, from);
}

bool Best::meetsBound() const {
  return found() && values.first.value <= bound().value * (1 + kRounding);
}

void Best::report() const {
  if (options.progress)
    options.progress(values.first, bound());
}

} // namespace stagewright::search
