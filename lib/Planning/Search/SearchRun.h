//===- SearchRun.h - the evaluations of one search --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: what all drivers share. Counts different plans, keeps
// their times and the best one, ends the search, and writes its log.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_SEARCHRUN_H
#define STAGEWRIGHT_LIB_PLANNING_SEARCHRUN_H

#include "Search/SearchLog.h"
#include <chrono>
#include <map>

namespace stagewright {

class SearchRun {
public:
  SearchRun(const SearchSpace &space, const SearchOptions &options,
            SearchLog &log);

  const SearchSpace &space;
  SearchRandom random;

  /// The time of `plan`, infinite if it cannot run or the search is over.
  double time(const Decisions &plan);
  /// Whether the plan has been evaluated.
  bool knows(const Decisions &plan) const { return times.contains(plan); }
  /// Whether the budget is spent, all plans are evaluated or ruled out, too
  /// many requests in a row were for known plans, or the log cannot be written.
  bool isOver() const;
  /// How many requests in a row were for known plans.
  int64_t known() const { return repeats; }
  /// SearchOptions::beta.
  double beta() const { return options.beta; }
  /// How much of the budget is spent, 0 to 1.
  double spent() const;
  /// How much of the time limit is spent, 0 to 1; 0 without a limit.
  double spentTime() const;
  /// Max plans evaluated.
  int64_t budget() const { return most; }
  /// Reports progress, after bounds of `more` prefixes.
  void report(int64_t more = 0);

  /// The best plan so far, and its time, infinite without any.
  const Decisions &plan() const { return best; }
  double least() const { return leastTime; }

  /// The time of the best of SearchSpace::references(), which this evaluates;
  /// 1 if none can run.
  double evaluateReferences();

  /// To be called by a driver that has ruled out all other plans.
  void setOptimum() { isOptimum = true; }

  Result<SearchOutcome> finish();

private:
  double evaluate(const Decisions &plan);

  const SearchOptions &options;
  SearchLog &log;
  std::map<Decisions, double> times;
  Decisions best;
  double leastTime;
  double plans;
  int64_t most, infeasible = 0, prefixes = 0;
  int64_t repeats = 0; ///< Requests for known plans since the last new one.
  bool isOptimum = false;
  std::optional<Error> reason; ///< Why the first infeasible plan cannot run.
  std::optional<Error> logFault;
  std::vector<SearchPoint> curve;
  std::chrono::steady_clock::time_point start;
};

/// The drivers. Each evaluates plans until the run is over.
void searchDynamicProgram(SearchRun &run);
void searchDeepQ(SearchRun &run);
void searchAnneal(SearchRun &run);
void searchRandom(SearchRun &run);
void searchExhaustive(SearchRun &run);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_SEARCHRUN_H
