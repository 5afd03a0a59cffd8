//===- Counting.h - refuting a value by counting actions --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One stage per rank. Suppose a schedule of value C exists. The n-th F of a
// rank, whichever microbatch it is, cannot start before the n-th F of the rank
// above has arrived; the n-th I not before n forwards have been down to the
// last rank and back. So every n-th action of a rank has an earliest start and,
// from C, a latest end, and they pass from rank to rank. Within a rank only
// counts matter to what it holds: a walk over the numbers (f, i, w) of actions
// done, with memory, finds the earliest and the latest time of every step,
// exactly but for the delay from an F to its own I. Where no walk is left, C is
// refuted.
//
// No order of microbatches is assumed. A round takes time linear in the numbers
// (f, i, w) that memory allows, at most m^3 / 6, times ranks.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_COUNTING_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_COUNTING_H

#include "Walk.h"
#include "Windows.h"

namespace stagewright::bounds {

/// The windows of all actions under one value.
class Counting {
public:
  Counting(const Chain &chain, const Window &window, double value);

  /// Narrows the windows for as many rounds or until they stand; false if the
  /// value is refuted.
  bool narrow(int rounds);
  const Walk &walk(int64_t rank) const { return walks[rank]; }
  /// The times of the states of `rank` within its windows.
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

/// Whether no schedule has a value of at most `value` for `window`.
bool refutesByCounting(const Chain &chain, const Window &window, double value);

/// The largest value found to be refuted for `window`, at least `from`, with
/// about `effort` steps of walks, of which it takes off what it uses.
double refuteByCounting(const Chain &chain, const Window &window, double from,
                        double &effort);

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_COUNTING_H
