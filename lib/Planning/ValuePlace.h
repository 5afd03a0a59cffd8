//===- ValuePlace.h - how a stage holds a value -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: which of the producer and the uses of a value are in
// a stage, and to which part of the stage's memory the value therefore adds.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_VALUEPLACE_H
#define STAGEWRIGHT_LIB_PLANNING_VALUEPLACE_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// Whether the producer and the uses of a value are in a stage.
struct ValuePlace {
  bool producer = false, forwardUse = false, inputUse = false,
       weightUse = false;
  bool offloaded = false; ///< The stash of the producer is on the host.

  void addUse(ActionKind phase);
  /// Whether a later action than that of `phase`, which receives or makes the
  /// value, uses it too.
  bool keeps(ActionKind phase) const {
    return phase == ActionKind::Forward
               ? inputUse || weightUse
               : phase != ActionKind::WeightGradient && weightUse;
  }
};

/// The counter of `memory` to which `value` adds in a stage that has it as
/// `place` describes; null if the stage does not hold it between actions.
int64_t *counterOf(const LayerValue &value, const ValuePlace &place,
                   bool recompute, StageMemory &memory);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_VALUEPLACE_H
