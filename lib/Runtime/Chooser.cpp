//===- Chooser.cpp - what a rank runs next --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chooser.h"

#include "stagewright/Runtime/Error.h"

#include <algorithm>

namespace stagewright::runtime {

Chooser::Chooser(const RankManifest &rank, int64_t index)
    : rank(rank), index(index), starts(size_t(rank.rows.back().lane) + 1),
      ends(starts.size()), done(rank.rows.size()) {
  for (size_t row = rank.rows.size(); row-- > 0;) {
    auto lane = size_t(rank.rows[row].lane);
    starts[lane] = int64_t(row);
    ends[lane] = std::max(ends[lane], int64_t(row) + 1);
  }
  needs.reserve(starts.size()); // No allocation during a step.
  begin();
}

void Chooser::begin() {
  next = starts;
  std::fill(done.begin(), done.end(), 0);
  choice = {};
}

bool Chooser::follows(const ReadyRow &row) const {
  return std::all_of(row.after.begin(), row.after.end(),
                     [&](int64_t before) { return done[size_t(before)] != 0; });
}

/// The first message or slot that `row` lacks.
const Need *Chooser::missing(Transport &transport, const ReadyRow &row) const {
  for (const Need &need : row.needs)
    if (!transport.isReady(index, need))
      return &need;
  return nullptr;
}

/// Looks at the next row of every lane; whether one can run.
bool Chooser::look(Transport &transport) {
  choice.row = -1;
  choice.lanes = 0;
  needs.clear();
  for (size_t lane = 0; lane < next.size(); ++lane) {
    if (!isNext(lane) || !follows(rank.rows[size_t(next[lane])]))
      continue;
    if (const Need *need = missing(transport, rank.rows[size_t(next[lane])])) {
      needs.push_back(*need);
      continue;
    }
    if (lane < 64)
      choice.lanes |= uint64_t(1) << lane;
    if (choice.row < 0 ||
        rank.rows[size_t(next[lane])].turn < rank.rows[size_t(choice.row)].turn)
      choice.row = next[lane];
  }
  return choice.row >= 0;
}

int64_t Chooser::choose(Transport &transport) {
  if (choice.row >= 0)
    done[size_t(choice.row)] = 1;
  choice.waited = false;
  while (!look(transport)) {
    if (needs.empty())
      raise("rank ", index,
            " chooses more often than it has rows, or its "
            "rows follow each other in a cycle");
    if (!choice.waited)
      choice.awaited = needs.front();
    choice.waited = true;
    transport.waitForAny(index, needs);
  }
  ++next[size_t(rank.rows[size_t(choice.row)].lane)];
  return choice.row;
}

} // namespace stagewright::runtime
