//===- Words.h - orders with one stage per rank -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If a rank has one stage and runs microbatches first in, first out, its order
// is a word over the letters F, I and W. A move takes one letter to another
// position of the word of one rank. Only actions that start at the changed
// position or later are timed again, and only until a limit on the objective is
// exceeded.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WORDS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WORDS_H

#include "Search/FastTiming.h"

namespace stagewright::search {

/// One letter of a word, with the number of each kind before it.
struct Letter {
  Phase phase = F;
  int32_t before[3] = {0, 0, 0};

  int32_t number() const { return before[phase]; }
};

/// A letter of `rank` moves from position `from` to position `to`.
struct Move {
  int32_t rank = 0, from = 0, to = 0;
};

/// The value of an order: the max and the sum of the ranks' end times, each
/// relative to the origin of the rank.
struct WordValue {
  Ticks worst = 0, sum = 0;
};

/// A position on a critical path.
struct Place {
  int32_t rank = 0, at = 0;
};

class Words {
public:
  /// Under the span objective the origin of a rank is its first start, which no
  /// order changes: every rank begins with the first forward. Otherwise it is
  /// 0.
  Words(const FastProblem &problem, bool span);

  /// Returns false if `orders` deadlocks or is not first in, first out.
  bool assign(const FastOrders &orders);
  FastOrders orders() const;
  WordValue value() const { return base; }

  /// Whether the word after the move is valid and fits the memory.
  bool allowed(const Move &move) const;
  /// Times the words after an allowed move. Returns false if the ranks deadlock
  /// or the worst rank exceeds `limit`. keep() makes it the new base.
  bool attempt(const Move &move, Ticks limit);
  WordValue attempted() const { return trial; }
  void keep();
  /// Undoes the move if keep() was not called.
  void drop();

  /// Follows a critical path back from the end of the worst rank: each position
  /// starts when the next one in the list ends, or when its result arrives.
  /// `choice` breaks ties.
  void criticalPath(std::vector<Place> &path, uint64_t choice) const;

  int32_t length() const { return problem.phases * problem.microbatches; }
  const std::vector<Letter> &word(int32_t rank) const { return words[rank]; }
  Ticks startOf(int32_t rank, int32_t at) const { return starts[rank][at]; }
  Ticks endOf(int32_t rank, int32_t at) const {
    return starts[rank][at] +
           problem.lane(rank, words[rank][at].phase).duration;
  }
  /// Letters timed so far, the unit of effort.
  int64_t steps() const { return stepsDone; }
  const FastProblem &problem;

private:
  void rotate(int32_t rank, int32_t from, int32_t to);
  void setFirst(Ticks time);
  bool runRank(int32_t rank, Ticks limit);
  bool retime(Ticks limit);
  Ticks remaining(int32_t rank, const Letter &letter) const;

  std::vector<std::vector<Letter>> words;
  std::vector<Ticks> origins;
  std::vector<std::vector<Ticks>> starts, trialStarts; ///< By rank, position.
  /// By rank, phase (F, I) and number.
  std::vector<std::vector<Ticks>> ends[2], trialEnds[2];
  std::vector<int32_t> first; ///< By rank: position from which it is timed.
  std::vector<int32_t> firstNumber[2]; ///< By phase and rank: at that place.
  std::vector<int32_t> next;           ///< By rank: position reached.
  std::vector<int32_t> reached[2];     ///< By phase and rank: number reached.
  std::vector<Ticks> frees, baseFrees;
  std::vector<int32_t> waitingNumber[2]; ///< By phase and rank: its number that
                                         ///< a neighbour waits for; -1: none.
  std::vector<int32_t> ready;
  Move current;
  bool pending = false;
  int64_t stepsDone = 0;
  WordValue base, trial;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WORDS_H
