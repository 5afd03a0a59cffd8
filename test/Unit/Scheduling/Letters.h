//===- Letters.h - a schedule as two letters per slot -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws the pictures in the comments of the generators. A slot is one column,
// with the kind of action above the number of the microbatch, so that 60 slots
// fit. The stage with the number of its rank has capital letters. A backward is
// two columns wide.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_SCHEDULING_LETTERS_H
#define STAGEWRIGHT_UNIT_SCHEDULING_LETTERS_H

#include "stagewright/Scheduling/Timing.h"
#include <cctype>
#include <cmath>

namespace stagewright {

/// The picture as lines, each with a newline; times must be whole slots.
inline std::string drawLetters(const Schedule &schedule,
                               const Timeline &timing) {
  std::string picture;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::string kinds(size_t(timing.makespan.value), ' '), numbers = kinds;
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      auto [timed, start, end] = timing.ranks[rank][i];
      char letter = static_cast<char>(action.kind);
      for (double slot = start.value; slot < end.value; ++slot) {
        kinds[size_t(slot)] =
            action.stage == int64_t(rank) ? letter : char(std::tolower(letter));
        numbers[size_t(slot)] = char('0' + action.microbatch);
      }
    }
    for (const std::string &line :
         {"rank " + std::to_string(rank) + " " + kinds, "       " + numbers})
      picture += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return picture;
}

} // namespace stagewright

#endif // STAGEWRIGHT_UNIT_SCHEDULING_LETTERS_H
