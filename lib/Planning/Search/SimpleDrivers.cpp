//===- SimpleDrivers.cpp - exhaustive and random search -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/SearchRun.h"

namespace stagewright {

/// Evaluates every plan that begins with `prefix`, in order.
static void visit(SearchRun &run, Decisions &prefix) {
  std::vector<int64_t> choices = run.space.choices(prefix);
  if (choices.empty())
    run.time(prefix);
  for (int64_t choice : choices) {
    if (run.isOver())
      return;
    prefix.push_back(choice);
    visit(run, prefix);
    prefix.pop_back();
  }
}

void searchExhaustive(SearchRun &run) {
  Decisions prefix;
  visit(run, prefix);
}

/// Every plan is equally likely: a choice has the weight of its plans.
void searchRandom(SearchRun &run) {
  run.evaluateReferences();
  while (!run.isOver()) {
    Decisions plan;
    for (;;) {
      std::vector<int64_t> choices = run.space.choices(plan);
      if (choices.empty())
        break;
      double left = run.random.real() * run.space.count(plan);
      plan.push_back(choices.front());
      for (int64_t choice : choices) {
        plan.back() = choice;
        left -= run.space.count(plan);
        if (left < 0)
          break;
      }
    }
    run.time(plan);
  }
}

} // namespace stagewright
