//===- Search.h - searches over sequences of decisions ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A space of plans as a tree: a plan is a sequence of decisions, each chosen
// among those that the earlier ones leave open. Drivers look for the fastest
// plan of any space; they see it only through SearchSpace, so the same drivers
// run on a chain of layers, in tests on spaces with known optima, and side by
// side for comparison. The effort of a search is the number of different plans
// that it evaluates. Its result depends only on the space, the driver, the
// seed, the plans it starts from and that number, unless it has a time limit:
// then it also depends on how fast the machine is.
//
// The search interface and its deep Q-network are those of Auto-MAP (Wang et
// al. 2020); docs/planner.md describes the drivers.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_SEARCH_H
#define STAGEWRIGHT_PLANNING_SEARCH_H

#include "stagewright/Planning/Plan.h"
#include <functional>
#include <random>
#include <span>

namespace stagewright {

/// The first decisions of a plan, or all of them.
using Decisions = std::vector<int64_t>;

/// A source of random numbers that gives the same ones with every library.
class SearchRandom {
public:
  explicit SearchRandom(uint64_t seed) : engine(seed) {}
  size_t pick(size_t count) { return size_t(engine() % count); } ///< < count.
  double real() { return double(engine() >> 11) * 0x1p-53; }     ///< In [0, 1).

private:
  std::mt19937_64 engine;
};

/// Plans as sequences of decisions. All times are in seconds.
class SearchSpace {
public:
  virtual ~SearchSpace() = default;

  /// What may follow `prefix`, increasing, each leading to at least one plan;
  /// nothing if `prefix` is a plan.
  virtual std::vector<int64_t> choices(const Decisions &prefix) const = 0;
  /// The number of plans that begin with `prefix`; 1 if it is a plan.
  virtual long double count(const Decisions &prefix) const = 0;
  /// A lower bound on the time of all plans that begin with `prefix`, from the
  /// costs of what is decided and the least costs of what is not.
  virtual double bound(const Decisions &prefix) const = 0;
  /// After all prefixes of equal state, the choices and the costs of later
  /// decisions are the same.
  virtual Decisions stateOf(const Decisions &prefix) const = 0;
  /// numFeatures() numbers of about -3 to 3 that describe `prefix`, for a
  /// function that predicts how good its best plan is.
  virtual std::vector<float> features(const Decisions &prefix) const = 0;
  virtual size_t numFeatures() const = 0;

  /// The time of a plan; the error says why it cannot run (memory).
  virtual Result<double> time(const Decisions &plan) const = 0;
  /// A plan that differs from `plan` by a small random change, or `plan`.
  virtual Decisions neighbour(const Decisions &plan,
                              SearchRandom &random) const = 0;
  /// Simple plans, with whose times others are compared; at least one.
  virtual std::vector<Decisions> references() const = 0;
  /// A number that differs between spaces, so that the log of one is not taken
  /// for that of another.
  virtual uint64_t digest() const = 0;
};

/// The best time after a number of evaluated plans.
struct SearchPoint {
  int64_t evaluations = 0;
  Seconds best;         ///< Infinite if no plan so far can run.
  int64_t prefixes = 0; ///< For which `dp` has computed bounds.
};

struct SearchOptions {
  std::string driver = "dp"; ///< In allSearchDrivers().
  /// Max plans evaluated; 0: kUsualEvaluations, for `exhaustive` all.
  int64_t evaluations = 0;
  double seconds = 0; ///< Max seconds of the search; 0: no limit.
  uint64_t seed = 1;
  /// A file of all evaluations, one JSON object a line. If it exists, the
  /// search goes on where it ended: with equal limits it repeats its decisions,
  /// with the times in the file, before it makes new ones.
  std::string log = {};
  /// Called after every evaluation, and now and then between evaluations.
  std::function<void(const SearchPoint &)> progress = {};
  /// Plans that every driver evaluates first.
  std::vector<Decisions> starts = {};
  /// For anneal: a constant inverse temperature, by which the log of a time is
  /// multiplied; 0: the temperature falls. If it is constant, plans of time t
  /// are visited in proportion to t^-beta, so that the log of a time is on
  /// average at most log(plans) / beta above that of the optimum.
  double beta = 0;
};

inline constexpr int64_t kUsualEvaluations = 10'000;
/// Max plans of a space that `exhaustive` evaluates unless told how many.
inline constexpr double kMostExhaustive = 1 << 20;

struct SearchOutcome {
  std::string driver;
  Decisions plan;          ///< The best one.
  Seconds time;            ///< Of it.
  double plans = 0;        ///< In the space; at most the largest double.
  int64_t evaluations = 0; ///< Different plans evaluated.
  int64_t infeasible = 0;  ///< Of these, those that cannot run.
  double seconds = 0;      ///< Of the search.
  uint64_t seed = 1;
  /// Whether no plan of the space is faster, since all others were evaluated
  /// or have a bound that is no lower.
  bool isOptimum = false;
  /// A point wherever the best time fell, and one at the end.
  std::vector<SearchPoint> curve;
};

/// A driver: a way to choose which plans to evaluate.
struct SearchDriver {
  const char *name;    ///< As in `--search=`.
  const char *summary; ///< One line for --help.
};

/// All drivers: dp, q, anneal, random, exhaustive.
std::span<const SearchDriver> allSearchDrivers();

/// Their names with `between` between them, for messages.
std::string searchDriverNames(std::string_view between = ", ");

/// Whether a driver is called `name`.
bool isSearchDriver(std::string_view name);

/// Searches `space`. Fails if no evaluated plan can run, if the driver is
/// unknown or the space too large for it, or if the log is of another search.
/// The fastest plan in a log is timed again, and must take as long as it says.
Result<SearchOutcome> search(const SearchSpace &space,
                             const SearchOptions &options);

/// The plan found in the space of plans of contiguous stages: an order of the
/// devices among those of planSpp(), then for each stage its last layer and its
/// number of devices, the next ones of that order. Each plan is timed by
/// evaluate(), in all orders that the problem allows. `start`, a plan of
/// contiguous stages on devices of their own, is evaluated first, so the result
/// is never slower; the space includes its order of the devices.
Result<Plan> planBySearch(const Problem &problem, SearchOptions options,
                          SearchOutcome &outcome, const Plan *start = nullptr);

/// One line about a search, such as "q: 812 of 24310 plans evaluated in 400.0
/// ms, best 12.31 ms, seed 1".
std::string describeSearch(const SearchOutcome &outcome);

/// A picture of searches on one problem: best time so far against evaluated
/// plans (logarithmic), with a line for the bound if it is positive.
std::string drawSearch(const std::vector<SearchOutcome> &outcomes,
                       Seconds bound);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_SEARCH_H
