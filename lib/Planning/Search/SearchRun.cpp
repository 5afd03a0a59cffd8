//===- SearchRun.cpp - the evaluations of one search ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/SearchRun.h"
#include <algorithm>
#include <limits>

namespace stagewright {

static constexpr double kNever = std::numeric_limits<double>::infinity();
/// A search that asks this often in a row for plans that it has evaluated is
/// over: it will find nothing new.
static constexpr int64_t kMostRepeats = 20'000;

SearchRun::SearchRun(const SearchSpace &space, const SearchOptions &options,
                     SearchLog &log)
    : space(space), random(options.seed), options(options), log(log),
      leastTime(kNever),
      plans(double(std::min<long double>(space.count({}),
                                         std::numeric_limits<double>::max()))),
      most(options.evaluations > 0 ? options.evaluations : kUsualEvaluations),
      start(std::chrono::steady_clock::now()) {
  if (options.driver == "exhaustive" && options.evaluations == 0)
    most = int64_t(std::min(plans, 9e18));
}

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

bool SearchRun::isOver() const {
  return isOptimum || logFault || int64_t(times.size()) >= most ||
         double(times.size()) >= plans || repeats >= kMostRepeats ||
         (spentTime() >= 1 && !times.empty()); // One plan in any case.
}

double SearchRun::spent() const {
  return std::max(double(times.size()) / double(most), spentTime());
}

double SearchRun::spentTime() const {
  return options.seconds > 0 ? secondsSince(start) / options.seconds : 0;
}

void SearchRun::report(int64_t more) {
  prefixes += more;
  if (options.progress)
    options.progress({int64_t(times.size()), Seconds(leastTime), prefixes});
}

double SearchRun::evaluate(const Decisions &plan) {
  if (std::optional<double> logged = log.timeOf(plan))
    return *logged;
  Result<double> time = space.time(plan);
  if (!time && !reason)
    reason = time.error();
  double seconds = time ? *time : kNever;
  if (Status status = log.add(plan, seconds); !status)
    logFault = status.error();
  return seconds;
}

double SearchRun::time(const Decisions &plan) {
  if (auto known = times.find(plan); known != times.end()) {
    ++repeats;
    return known->second;
  }
  if (isOver())
    return kNever;
  repeats = 0;
  double seconds = evaluate(plan);
  times.emplace(plan, seconds);
  if (seconds == kNever)
    ++infeasible;
  if (seconds < leastTime) {
    leastTime = seconds;
    best = plan;
    curve.push_back({int64_t(times.size()), Seconds(seconds)});
  }
  report();
  return seconds;
}

double SearchRun::evaluateReferences() {
  for (const Decisions &plan : space.references())
    time(plan);
  return leastTime < kNever ? leastTime : 1;
}

Result<SearchOutcome> SearchRun::finish() {
  if (logFault)
    return *logFault;
  if (leastTime == kNever) {
    std::string counted = times.size() == 1
                              ? "the evaluated plan cannot"
                              : "none of the " + std::to_string(times.size()) +
                                    " evaluated plans can";
    return Error{counted + " run" +
                     (double(times.size()) < plans
                          ? "; more evaluations, or --search=dp, may find one"
                          : ""),
                 reason ? std::vector{"for one of them: " + reason->message}
                        : std::vector<std::string>()};
  }
  SearchOutcome outcome;
  outcome.driver = options.driver;
  outcome.plan = best;
  outcome.time = Seconds(leastTime);
  outcome.plans = plans;
  outcome.evaluations = int64_t(times.size());
  outcome.infeasible = infeasible;
  outcome.seconds = secondsSince(start);
  outcome.seed = options.seed;
  outcome.isOptimum = isOptimum || double(times.size()) >= plans;
  curve.push_back({outcome.evaluations, outcome.time});
  outcome.curve = std::move(curve);
  return outcome;
}

} // namespace stagewright
