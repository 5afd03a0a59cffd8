//===- WordMoves.cpp - moves in words, and critical paths -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/Words.h"
#include <algorithm>

namespace stagewright::search {

bool Words::allowed(const Move &move) const {
  const std::vector<Letter> &word = words[move.rank];
  int32_t low = std::min(move.from, move.to);
  int32_t high = std::max(move.from, move.to);
  int32_t count[3];
  std::copy_n(word[low].before, 3, count);
  const Lane *lanes = &problem.lanes[3 * move.rank];
  Grains held = 0;
  for (int phase = 0; phase < 3; ++phase)
    held += count[phase] * (lanes[phase].taken - lanes[phase].freed);
  for (int32_t at = low; at <= high; ++at) {
    int32_t source = at == move.to         ? move.from
                     : move.from < move.to ? at + 1
                                           : at - 1;
    Phase phase = word[source].phase;
    if (phase != F && count[phase] >= count[phase - 1])
      return false;
    ++count[phase];
    held += lanes[phase].taken;
    if (held > problem.memory)
      return false;
    held -= lanes[phase].freed;
  }
  return true;
}

void Words::rotate(int32_t rank, int32_t from, int32_t to) {
  std::vector<Letter> &word = words[rank];
  int32_t low = std::min(from, to), high = std::max(from, to);
  int32_t count[3];
  std::copy_n(word[low].before, 3, count);
  Phase moved = word[from].phase;
  int32_t step = from < to ? 1 : -1;
  for (int32_t at = from; at != to; at += step)
    word[at].phase = word[at + step].phase;
  word[to].phase = moved;
  for (int32_t at = low; at <= high; ++at) {
    std::copy_n(count, 3, word[at].before);
    ++count[word[at].phase];
  }
}

/// Only actions that start at `time` or later can change.
void Words::setFirst(Ticks time) {
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    const std::vector<Ticks> &times = starts[rank];
    first[rank] = int32_t(std::lower_bound(times.begin(), times.end(), time) -
                          times.begin());
  }
}

bool Words::attempt(const Move &move, Ticks limit) {
  current = move;
  pending = true;
  setFirst(starts[move.rank][std::min(move.from, move.to)]);
  // Actions of duration 0 may start at the same time as the first moved one.
  first[move.rank] = std::min(first[move.rank], std::min(move.from, move.to));
  rotate(move.rank, move.from, move.to);
  return retime(limit);
}

void Words::drop() {
  if (pending)
    rotate(current.rank, current.to, current.from);
  pending = false;
}

void Words::criticalPath(std::vector<Place> &path, uint64_t choice) const {
  path.clear();
  int32_t rank = 0;
  for (int32_t r = 1; r < problem.ranks; ++r)
    if (baseFrees[r] - origins[r] > baseFrees[rank] - origins[rank])
      rank = r;
  Place place{rank, length() - 1};
  while (true) {
    path.push_back(place);
    const Letter &letter = words[place.rank][place.at];
    Ticks start = starts[place.rank][place.at];
    bool onRank = place.at > 0 && endOf(place.rank, place.at - 1) == start;
    int32_t from = letter.phase == F   ? place.rank - 1
                   : letter.phase == I ? place.rank + 1
                                       : -1;
    bool arrives = false;
    if (letter.phase != W && from >= 0 && from < problem.ranks)
      arrives = ends[letter.phase][from][letter.number()] +
                    problem.lane(place.rank, letter.phase).hop ==
                start;
    if (!onRank && !arrives)
      return;
    if (onRank && arrives) {
      choice = choice * 6364136223846793005u + 1442695040888963407u;
      onRank = (choice >> 33) & 1;
    }
    if (onRank) {
      --place.at;
      continue;
    }
    // Find the producer by its start time.
    Ticks made = ends[letter.phase][from][letter.number()] -
                 problem.lane(from, letter.phase).duration;
    const std::vector<Ticks> &times = starts[from];
    int32_t at = int32_t(std::lower_bound(times.begin(), times.end(), made) -
                         times.begin());
    while (words[from][at].phase != letter.phase ||
           words[from][at].number() != letter.number())
      ++at;
    place = {from, at};
  }
}

} // namespace stagewright::search
