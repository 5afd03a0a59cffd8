//===- Searches.cpp - plans that drivers search for -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Searches.h"

#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Request.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace stagewright {

/// The order of --schedule; none: all that the problem allows.
static Result<std::optional<ExecutionOrder>>
orderOf(const PlanOptions &options) {
  if (options.schedule == "auto")
    return std::optional<ExecutionOrder>();
  if (auto order = programOrder(options.schedule))
    return order;
  std::string known;
  for (ExecutionOrder order : kProgramOrders)
    known += (known.empty() ? "" : ", ") + std::string(toString(order));
  return Error{"--search plans for the schedules " + known + ", got '" +
               options.schedule + "'; leave out --search or --schedule"};
}

/// Checks that `names` are drivers, each once.
static Status checkDrivers(const std::vector<std::string> &names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + i, names[i]) !=
        names.begin() + i)
      return Error{"--search names '" + names[i] + "' twice"};
    if (!isSearchDriver(names[i]))
      return Error{"--search=" + names[i] + " is unknown; there are " +
                   searchDriverNames()};
  }
  return {};
}

/// Checks --evals, --seconds, --seed and --beta.
static Status checkLimits(const PlanOptions &options) {
  if (options.evaluations && *options.evaluations < 1)
    return Error{"--evals must be at least 1, got " +
                 std::to_string(*options.evaluations)};
  if (options.seconds && !(*options.seconds > 0 && *options.seconds < 1e9))
    return Error{"--seconds must be more than 0 and less than 1e9, got " +
                 std::to_string(*options.seconds)};
  if (options.seed && *options.seed < 0)
    return Error{"--seed must be 0 or more, got " +
                 std::to_string(*options.seed)};
  if (options.beta && !(*options.beta > 0 && *options.beta < 1e9))
    return Error{"--beta must be more than 0 and less than 1e9, got " +
                 std::to_string(*options.beta)};
  return {};
}

Status checkSearches(const PlanOptions &options) {
  if (options.searches.empty() && options.planner == "explore")
    return checkLimits(options);
  if (options.searches.empty()) {
    for (auto [isGiven, name] :
         {std::pair(options.evaluations.has_value(), "--evals"),
          {options.seconds.has_value(), "--seconds"},
          {options.seed.has_value(), "--seed"},
          {!options.searchStart.empty(), "--start"},
          {options.beta.has_value(), "--beta"},
          {!options.searchLog.empty(), "--search-log"},
          {!options.searchSvg.empty(), "--search-svg"}})
      if (isGiven)
        return Error{std::string(name) +
                     " belongs to --search; give that too, such as --search=q"};
    return {};
  }
  for (auto [isGiven, name] :
       {std::pair(!options.planner.empty(), "--planner"),
        {!options.plan.empty(), "--plan"},
        {!options.tensorParallel.empty(), "--tensor-parallel"},
        {options.chunks.has_value(), "--chunks"},
        {!options.placement.empty(), "--placement"}})
    if (isGiven)
      return Error{"--search plans stages of whole layers, each on devices of "
                   "its own; leave it out, or " +
                   std::string(name)};
  if (!options.searchLog.empty() &&
      (options.searches.size() > 1 || options.files.size() > 1))
    return Error{"--search-log is the log of one search; give one driver and "
                 "one input"};
  if (Result<std::optional<ExecutionOrder>> order = orderOf(options); !order)
    return order.error();
  if (Status status = checkDrivers(options.searches); !status)
    return status;
  if (!options.searchStart.empty() && options.searchStart != "none")
    if (Result<Planner> start = findPlanner(options.searchStart); !start)
      return Error{"--start: " + start.error().message + ", none"};
  return checkLimits(options);
}

static void warn(const Error &error) {
  std::cerr << "pp-plan: warning: " << error.message << "\n";
  for (const std::string &note : error.notes)
    std::cerr << "pp-plan: note: " << note << "\n";
}

/// The plan of --start. None, with a warning, if that planner finds no plan of
/// contiguous stages on devices of their own.
static std::optional<Plan> startOf(const PlanOptions &options,
                                   const Problem &problem) {
  std::string name = options.searchStart.empty() ? "spp" : options.searchStart;
  if (name == "none")
    return std::nullopt;
  Result<Plan> plan = runPlanner(*findPlanner(name), problem);
  if (plan && isOfFamily(*plan))
    return std::move(*plan);
  Error error = plan ? Error{"its stages are not contiguous, or share devices"}
                     : plan.error();
  error.message =
      "searches do not start from the plan of " + name + ": " + error.message;
  warn(error);
  return std::nullopt;
}

namespace {
/// Prints a line about a search every few seconds.
class Progress {
public:
  explicit Progress(const SearchOptions &options) : options(options) {}
  void operator()(const SearchPoint &point) {
    auto now = std::chrono::steady_clock::now();
    if (now - last < kEvery)
      return;
    last = now;
    std::cerr << "pp-plan: search " << options.driver << ": "
              << point.evaluations << " plans evaluated, best "
              << (std::isinf(point.best.value) ? "none" : precisely(point.best))
              << (point.prefixes > 0
                      ? ", bounds of " + std::to_string(point.prefixes) +
                            " beginnings of plans"
                      : "")
              << "\n";
  }

private:
  static constexpr std::chrono::seconds kEvery{3};
  const SearchOptions &options;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};
} // namespace

SearchOptions searchOptions(const PlanOptions &options) {
  SearchOptions asked;
  asked.evaluations = options.evaluations.value_or(0);
  asked.seconds = options.seconds.value_or(0);
  asked.seed = uint64_t(options.seed.value_or(1));
  asked.beta = options.beta.value_or(0);
  asked.log = options.searchLog;
  return asked;
}

Result<Planned> planSearches(const PlanOptions &options, Problem problem) {
  if (auto order = *orderOf(options))
    problem.orders = {*order};
  std::optional<Plan> start = startOf(options, problem);
  std::optional<Planned> best;
  std::vector<Error> errors;
  std::vector<SearchOutcome> searches;
  std::vector<std::string> lines;
  for (const std::string &driver : options.searches) {
    SearchOptions asked = searchOptions(options);
    asked.driver = driver;
    Progress progress(asked);
    asked.progress = std::ref(progress);
    SearchOutcome outcome;
    Result<Plan> plan =
        planBySearch(problem, asked, outcome, start ? &*start : nullptr);
    if (!plan) {
      lines.push_back(driver + ": " + plan.error().message);
      errors.push_back(plan.error());
      errors.back().message =
          "the search " + driver + " fails: " + plan.error().message;
      if (options.searches.size() == 1)
        return plan.error();
      continue;
    }
    lines.push_back(describeSearch(outcome));
    searches.push_back(std::move(outcome));
    if (!best || plan->time < best->plan.time)
      best = Planned{problem, std::move(*plan), {}};
  }
  for (const Error &error : errors)
    warn(error);
  if (!best)
    return Error{"no search found a plan"};
  best->plan.explanation = std::move(lines);
  best->searches = std::move(searches);
  return std::move(*best);
}

std::string searchTable(const Planned &planned) {
  std::string text;
  double bound = planned.plan.familyBound.value;
  for (const SearchOutcome &outcome : planned.searches) {
    text += describeSearch(outcome);
    char gap[64];
    std::snprintf(gap, sizeof gap, ", at most %.1f %% above any plan",
                  100 * (outcome.time.value / bound - 1));
    text += bound > 0 && !outcome.isOptimum ? gap : "";
    text += "\n";
  }
  return text;
}

} // namespace stagewright
