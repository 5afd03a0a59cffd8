//===- ValuePlace.cpp - how a stage holds a value -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValuePlace.h"

namespace stagewright {

void ValuePlace::addUse(ActionKind phase) {
  switch (phase) {
  case ActionKind::Forward:
    forwardUse = true;
    break;
  case ActionKind::WeightGradient:
    weightUse = true;
    break;
  default:
    inputUse = true;
  }
}

int64_t *counterOf(const LayerValue &value, const ValuePlace &place,
                   bool recompute, StageMemory &memory) {
  bool forward = value.producer.phase == ActionKind::Forward;
  bool kept = place.keeps(value.producer.phase);
  if (place.producer && kept && forward && recompute)
    return &memory.recomputed; // Recomputed right before the backward.
  if (place.producer && kept && forward && place.offloaded)
    return &memory.offloaded;
  if (kept || (!place.producer && forward && recompute && place.forwardUse)) {
    ByLife &bytes = place.producer ? memory.stash : memory.receivedStash;
    if (!forward)
      return &bytes.between;
    return place.weightUse ? &bytes.toWeight : &bytes.toInput;
  }
  bool used = place.forwardUse || place.inputUse || place.weightUse;
  return !place.producer && used ? &memory.received : nullptr;
}

} // namespace stagewright
