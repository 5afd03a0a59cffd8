//===- Best.cpp - the best order found so far -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Best.h"
#include "Search/Seeds.h"

namespace stagewright::search {

/// What two sums of the same times may differ by.
static constexpr double kRounding = 1e-9;

static bool less(Seconds a, Seconds b) {
  return a.value < b.value * (1 - kRounding);
}

static bool better(std::pair<Seconds, Seconds> a,
                   std::pair<Seconds, Seconds> b) {
  return less(a.first, b.first) ||
         (!less(b.first, a.first) && less(a.second, b.second));
}

bool Best::offer(const Schedule &candidate, const std::string &from) {
  Result<ScheduleTiming> timed = timeSchedule(candidate, problem);
  if (!timed || !withinMemory(timed->peaks, problem))
    return false;
  auto offered = order(timed->makespan, timed->span);
  if (found() && !better(offered, values))
    return false;
  schedule = candidate;
  timing = std::move(*timed);
  origin = from;
  values = offered;
  report();
  return true;
}

bool Best::offer(const FastOrders &orders, const FastTimer &timer,
                 const FastProblem &fast, const std::string &from) {
  auto offered =
      order(fast.seconds(timer.makespan()), fast.seconds(timer.span()));
  if (found() && !better(offered, values))
    return false;
  return offer(decode(orders, fast, from), from);
}

bool Best::meetsBound() const {
  return found() && values.first.value <= bound().value * (1 + kRounding);
}

void Best::report() const {
  if (options.progress)
    options.progress(values.first, bound());
}

} // namespace stagewright::search
