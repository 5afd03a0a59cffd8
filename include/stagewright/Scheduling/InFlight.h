//===- InFlight.h - microbatches held between phases ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For how many microbatches a stage keeps values. This depends only on the
// order of each rank, not on times; Memory.h converts it to bytes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_INFLIGHT_H
#define STAGEWRIGHT_SCHEDULING_INFLIGHT_H

#include "stagewright/Scheduling/Schedule.h"

namespace stagewright {

/// The max number of microbatches for which one rank keeps values of a stage at
/// once, each from the start of one action to the end of another. The four may
/// peak at different times.
struct StashPeak {
  int64_t rank = 0, stage = 0;
  int64_t held = 0;       ///< Any value: from F to W, or to B.
  int64_t activation = 0; ///< All values: from F, or from R if any, to I or B.
  int64_t kept = 0;       ///< Only for W: from the end of I to W.
  int64_t input = 0;      ///< For R: from the end of F to the start of R.

  friend bool operator==(const StashPeak &, const StashPeak &) = default;
};

/// For every rank, one entry for each stage that it runs, by increasing stage:
/// usually one, several with chunks; with twins each stage is on two ranks. All
/// 0 without backward. O(actions log actions).
std::vector<StashPeak> stashPeaks(const Schedule &schedule);

/// The lifetime of what the forward of a stage keeps for a microbatch, as
/// positions in the order of its rank, from 0, not counting updates.
struct StashLife {
  int64_t stage = 0, microbatch = 0;
  int64_t forward = 0; ///< F
  int64_t input = 0;   ///< I, or B.
  int64_t weight = 0;  ///< W, or B.

  friend bool operator==(const StashLife &, const StashLife &) = default;
};

/// The lifetimes of all forwards that have a backward, in the order of the
/// forwards. O(actions log actions).
std::vector<StashLife> stashLives(const Order &order);

/// For each stage, the max number of microbatches on one rank whose forward has
/// started and whose last backward action has not ended; 0 in a schedule
/// without backward. 1F1B: min(stages - stage, M). GPipe: M.
std::vector<int64_t> stashedMicrobatches(const Schedule &schedule);

/// Slots of a ring between ranks for values that are used when they arrive: one
/// in use and one for the next to arrive. `window` needs three, because its
/// senders are so far ahead that with two slots ranks would wait for each
/// other.
int64_t slotsAtOnce(std::string_view kind);

/// Slots on the device for offloaded values that forwards write, until they are
/// copied to the host. If forwards and backwards alternate, one is enough: it
/// is copied during the next backward. Under `gpipe` it is copied during the
/// next forward, which needs a slot of its own.
int64_t slotsLeaving(std::string_view kind);

/// Slots for offloaded values that are copied back, of which backwards hold
/// `held` at once: one more, for the next copy.
inline int64_t slotsComing(int64_t held) { return held + 1; }

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_INFLIGHT_H
