//===- InFlight.h - microbatches held between phases ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many microbatches a stage keeps something for. It follows from the order
// of each rank alone, not from times; what it weighs is in Memory.h.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_INFLIGHT_H
#define STAGEWRIGHT_SCHEDULING_INFLIGHT_H

#include "stagewright/Scheduling/Schedule.h"

namespace stagewright {

/// The most microbatches at once for which one rank keeps something of a stage,
/// each from the start of an action to the end of another. The four may peak at
/// different times.
struct StashPeak {
  int64_t rank = 0, stage = 0;
  int64_t held = 0; ///< Anything: from F to W, or to B.
  int64_t activation =
      0;             ///< All of it: from F, or R if there is one, to I or B.
  int64_t kept = 0;  ///< What W needs alone: from the end of I to W.
  int64_t input = 0; ///< What R needs: from the end of F to the start of R.

  friend bool operator==(const StashPeak &, const StashPeak &) = default;
};

/// For every rank the stages it runs, in increasing order: one entry for most,
/// several with chunks, two ranks for a stage under twins. All 0 without
/// backward. O(actions log actions).
std::vector<StashPeak> stashPeaks(const Schedule &schedule);

/// When a rank keeps what the forward of a stage makes for a microbatch, in
/// places of its order without updates, counted from 0.
struct StashLife {
  int64_t stage = 0, microbatch = 0;
  int64_t forward = 0; ///< F
  int64_t input = 0;   ///< I, or B.
  int64_t weight = 0;  ///< W, or B.

  friend bool operator==(const StashLife &, const StashLife &) = default;
};

/// Of every forward that has a backward, in the order of the forwards.
/// O(actions log actions).
std::vector<StashLife> stashLives(const Order &order);

/// For each stage, the most microbatches of one rank whose forward has started
/// and whose last backward action has not ended; 0 in a schedule without
/// backward. 1F1B: min(stages - stage, M). GPipe: M.
std::vector<int64_t> stashedMicrobatches(const Schedule &schedule);

/// Slots of a ring between ranks whose values are used when they arrive: one in
/// use and one for the next to arrive. Under `window` three, since a sender is
/// so far ahead there that with two the ranks would wait for one another.
int64_t slotsAtOnce(std::string_view kind);

/// Slots on the device, of what waits on the host between a forward and its
/// backward, that forwards write and that are copied out. Where forwards and
/// backwards take turns, one leaves beside the backward that follows; under
/// `gpipe` it leaves beside the next forward, which needs one of its own.
int64_t slotsLeaving(std::string_view kind);

/// And slots that are copied back, of which backwards keep `held` at once: the
/// next one comes meanwhile.
inline int64_t slotsComing(int64_t held) { return held + 1; }

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_INFLIGHT_H
