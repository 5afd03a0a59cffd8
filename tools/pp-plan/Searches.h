//===- Searches.h - plans that drivers search for ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_SEARCHES_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_SEARCHES_H

#include "Shards.h"

namespace stagewright {

/// Checks --search and the options that belong to it.
Status checkSearches(const PlanOptions &options);

/// The options of one driver, without its name.
SearchOptions searchOptions(const PlanOptions &options);

/// The best plan that the drivers of --search find, each with the whole budget;
/// they report their progress on standard error. Fails if none finds a plan.
Result<Planned> planSearches(const PlanOptions &options, Problem problem);

/// A line about each search, with the max gap between its plan and the best
/// plan of the family, by the bound, unless its plan is proved to be the best.
std::string searchTable(const Planned &planned);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_SEARCHES_H
