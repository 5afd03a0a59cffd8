//===- FromText.h - schedules from the text of orders -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SCHEDULING_FROMTEXT_H
#define STAGEWRIGHT_TEST_UNIT_SCHEDULING_FROMTEXT_H

#include "../OrderText.h"
#include "stagewright/Scheduling/Schedule.h"

namespace stagewright::testing {

/// Parses a schedule from the order of each rank.
inline Schedule fromText(int64_t stages, int64_t microbatches,
                         const std::vector<std::string> &ranks) {
  Schedule schedule{"test", stages, microbatches, {}};
  for (const std::string &rank : ranks)
    schedule.ranks.push_back(parseOrder(rank));
  return schedule;
}

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_SCHEDULING_FROMTEXT_H
