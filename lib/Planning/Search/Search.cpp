//===- Search.cpp - searches over sequences of decisions ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/ChainSpace.h"
#include "Search/SearchRun.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Support/Printed.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace stagewright {

namespace {
struct Driver : SearchDriver {
  void (*run)(SearchRun &);
};
} // namespace

static constexpr std::array kDrivers = {
    Driver{{"dp", "dynamic program over partial plans, then plans by bound"},
           searchDynamicProgram},
    Driver{{"q", "deep Q-network that learns from the plans it makes"},
           searchDeepQ},
    Driver{{"anneal", "simulated annealing"}, searchAnneal},
    Driver{{"random", "random plans, all equally likely"}, searchRandom},
    Driver{{"exhaustive", "all plans"}, searchExhaustive},
};

std::span<const SearchDriver> allSearchDrivers() {
  static constexpr auto list = [] {
    std::array<SearchDriver, kDrivers.size()> list{};
    for (size_t i = 0; i < list.size(); ++i)
      list[i] = kDrivers[i];
    return list;
  }();
  return list;
}

std::string searchDriverNames(std::string_view between) {
  std::string names;
  for (const Driver &driver : kDrivers)
    names.append(names.empty() ? "" : between).append(driver.name);
  return names;
}

bool isSearchDriver(std::string_view name) {
  return std::any_of(kDrivers.begin(), kDrivers.end(),
                     [&](const Driver &driver) { return name == driver.name; });
}

/// "24310", "3.2e+09", "more than 1.8e+308".
static std::string countOf(double number) {
  bool isMost = number >= std::numeric_limits<double>::max();
  return (isMost ? "more than " : "") +
         printed(number < 1e7 ? "%.0f" : "%.2g", number);
}

/// Whether `plan` is a plan of `space`.
static bool isPlanOf(const SearchSpace &space, const Decisions &plan) {
  Decisions prefix;
  for (int64_t decision : plan) {
    std::vector<int64_t> choices = space.choices(prefix);
    if (!std::binary_search(choices.begin(), choices.end(), decision))
      return false;
    prefix.push_back(decision);
  }
  return space.choices(prefix).empty();
}

/// Times the fastest plan in `log` again: times may also differ because another
/// version of the program made them.
static Status checkTimes(const SearchSpace &space, const SearchLog &log,
                         const std::string &path) {
  constexpr double kRounding = 1e-9;
  auto fastest = log.fastest();
  if (!fastest)
    return {};
  const auto &[plan, seconds] = *fastest;
  std::string now = "is no plan";
  if (isPlanOf(space, plan)) {
    Result<double> time = space.time(plan);
    if (time && std::abs(*time - seconds) <= kRounding * seconds)
      return {};
    now = time ? "takes " + precisely(Seconds(*time)) : "cannot run";
  }
  return Error{"the fastest plan in '" + path + "' takes " +
               precisely(Seconds(seconds)) + " there, and here it " + now +
               "; give this search a file of its own"};
}

Result<SearchOutcome> search(const SearchSpace &space,
                             const SearchOptions &options) {
  auto driver = std::find_if(kDrivers.begin(), kDrivers.end(), [&](auto &it) {
    return options.driver == it.name;
  });
  if (driver == kDrivers.end())
    return Error{"unknown search '" + options.driver + "'; there are " +
                 searchDriverNames()};
  long double plans = space.count({});
  bool isLimited = options.evaluations > 0 || options.seconds > 0;
  if (options.driver == "exhaustive" && plans > kMostExhaustive && !isLimited)
    return Error{"there are " +
                 countOf(double(std::min<long double>(
                     plans, std::numeric_limits<double>::max()))) +
                 " plans, and exhaustive search evaluates all up to " +
                 countOf(kMostExhaustive) +
                 "; use another search, or limit it to the first ones by "
                 "--evals"};
  SearchLog log;
  if (!options.log.empty()) {
    if (Status status = log.open(options, space.digest()); !status)
      return status.error();
    if (Status status = checkTimes(space, log, options.log); !status)
      return status.error();
  }
  SearchRun run(space, options, log);
  for (const Decisions &plan : options.starts)
    run.time(plan);
  driver->run(run);
  return run.finish();
}

Result<Plan> planBySearch(const Problem &problem, SearchOptions options,
                          SearchOutcome &outcome, const Plan *start) {
  if (!problem.askedStages.empty())
    return Error{problem.askedStages.front().source +
                 " asks for a stage, and searches by drivers plan all stages "
                 "freely; leave out the search or the annotation"};
  return runPlanner(problem, [&](const Problem &problem) -> Result<Plan> {
    Result<Network> network = Network::create(problem.cluster);
    if (!network)
      return network.error();
    ChainSpace space(problem, *network, start);
    if (std::optional<Decisions> first = space.decisionsOf(start))
      options.starts.push_back(std::move(*first));
    Result<SearchOutcome> found = search(space, options);
    if (!found)
      return found.error();
    outcome = std::move(*found);
    Result<Plan> plan = space.planOf(outcome.plan);
    if (plan) {
      plan->planner = "search " + outcome.driver;
      plan->explanation.push_back(describeSearch(outcome));
    }
    return plan;
  });
}

std::string describeSearch(const SearchOutcome &outcome) {
  std::string line = outcome.driver + ": " +
                     std::to_string(outcome.evaluations) + " of " +
                     countOf(outcome.plans) + " plans evaluated in " +
                     toString(Seconds(outcome.seconds));
  if (outcome.infeasible > 0)
    line += ", " + std::to_string(outcome.infeasible) + " cannot run";
  line += ", best " + precisely(outcome.time);
  if (outcome.isOptimum)
    line += ", the optimum of these plans";
  if (outcome.driver != "dp" && outcome.driver != "exhaustive")
    line += ", seed " + std::to_string(outcome.seed);
  return line;
}

} // namespace stagewright
