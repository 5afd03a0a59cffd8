//===- Words.h - the orders of one stage per rank, retimed in part -*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a rank has one stage and microbatches go first in, first out, its order
// is a word over the letters F, I and W. A move takes one letter to another
// place of one word. Only what starts no earlier than the changed place is
// timed again, and no further than a limit on the objective allows.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WORDS_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WORDS_H

#include "Search/FastTiming.h"

namespace stagewright::search {

/// One letter of a word, with how many of each kind stand before it.
struct Letter {
  Phase phase = F;
  int32_t before[3] = {0, 0, 0};

  int32_t number() const { return before[phase]; }
};

/// A letter of `rank` goes from place `from` to place `to`.
struct Move {
  int32_t rank = 0, from = 0, to = 0;
};

/// What an order is judged by: the largest of the ranks' ends, counted from
/// `origin(rank)`, and the sum of them.
struct WordValue {
  Ticks worst = 0, sum = 0;
};

/// A place of a critical path.
struct Place {
  int32_t rank = 0, at = 0;
};

class Words {
public:
  /// Under the span objective the end of a rank counts from its first start,
  /// which no order changes: every rank begins with the first forward.
  Words(const FastProblem &problem, bool span);

  /// False where `orders` deadlocks or does not go first in, first out.
  bool assign(const FastOrders &orders);
  FastOrders orders() const;
  WordValue value() const { return base; }

  /// Whether the word stays right and within memory.
  bool allowed(const Move &move) const;
  /// Times the words after an allowed move: false where ranks wait for each
  /// other or one is worse than `limit`. keep() makes it the base.
  bool attempt(const Move &move, Ticks limit);
  WordValue attempted() const { return trial; }
  void keep();
  /// Takes the move back if keep() was not called.
  void drop();

  /// From the worst rank's end backwards: each place starts when the next one
  /// in the list ends (or what it made arrives). `choice` breaks ties.
  void criticalPath(std::vector<Place> &path, uint64_t choice) const;

  int32_t length() const { return problem.phases * problem.microbatches; }
  const std::vector<Letter> &word(int32_t rank) const { return words[rank]; }
  Ticks startOf(int32_t rank, int32_t at) const { return starts[rank][at]; }
  Ticks endOf(int32_t rank, int32_t at) const {
    return starts[rank][at] +
           problem.lane(rank, words[rank][at].phase).duration;
  }
  /// Letters timed so far: what effort is counted in.
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
  std::vector<std::vector<Ticks>> starts, trialStarts; ///< By rank and place.
  /// By rank, phase (F, I) and number.
  std::vector<std::vector<Ticks>> ends[2], trialEnds[2];
  std::vector<int32_t> first; ///< By rank: place from which it is retimed.
  std::vector<int32_t> firstNumber[2]; ///< By phase and rank: at that place.
  std::vector<int32_t> next;           ///< By rank: place reached.
  std::vector<int32_t> reached[2];     ///< By phase and rank: number reached.
  std::vector<Ticks> frees, baseFrees;
  std::vector<int32_t> waitingNumber[2]; ///< For F of the rank before, or I of
                                         ///< the one behind; -1: none.
  std::vector<int32_t> ready;
  Move current;
  bool pending = false;
  int64_t stepsDone = 0;
  WordValue base, trial;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WORDS_H
