//===- Counting.h - refuting a value by counting actions --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For one stage per rank. Suppose a schedule of value C exists. The n-th F of a
// rank, of whichever microbatch, cannot start before the n-th F of the previous
// rank has arrived; the n-th I not before n forwards have gone to the last rank
// and back. So the n-th F and the n-th I of a rank have an earliest start and,
// from C, a latest end, and those of one rank narrow those of the next. Within
// a rank, memory depends only on counts: a walk over the numbers (f, i, w) of
// actions done that fit in memory finds the earliest and the latest time of
// every action, exactly except for the delay from an F to its own I. If no walk
// is left, C is refuted.
//
// No order of microbatches is assumed. A round takes time proportional to the
// number of ranks times the number of triples (f, i, w) that memory allows,
// which is about M^3 / 6 at most for M microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_COUNTING_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_COUNTING_H

#include "Walk.h"
#include "Windows.h"

namespace stagewright::bounds {

/// The time windows of all actions if a schedule of `value` exists.
class Counting {
public:
  Counting(const Chain &chain, const Window &window, double value);

  /// Narrows the windows for at most `rounds`, or until they no longer change;
  /// false if the value is refuted.
  bool narrow(int rounds);
  const Walk &walk(int64_t rank) const { return walks[rank]; }
  /// Computes the times of the states of `rank` within its windows.
  void timesOf(int64_t rank, Walk::Scratch &times);
  /// Steps of walks so far.
  double steps() const { return walked; }

private:
  void passDown(int64_t rank);
  void passUp(int64_t rank);
  bool narrowOne(int64_t rank);

  const Chain &chain;
  Window window;
  double value, slack;
  std::vector<Walk> walks; ///< By rank.
  Walk::Scratch scratch;
  std::vector<bool> stale; ///< By rank: windows changed since its walk.
  double walked = 0;
};

/// The largest value that counting refutes for `window`, or `from`. It takes at
/// most about `effort` steps of walks, and subtracts those from `effort`.
double refuteByCounting(const Chain &chain, const Window &window, double from,
                        double &effort);

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_COUNTING_H
