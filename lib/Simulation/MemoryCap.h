//===- MemoryCap.h - fewer credits where memory is short --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SIMULATION_MEMORYCAP_H
#define STAGEWRIGHT_LIB_SIMULATION_MEMORYCAP_H

#include "stagewright/Simulation/AssignCredits.h"

namespace stagewright {

/// Takes `credits` back until every rank has enough memory, as assignCredits()
/// states.
Status capByMemory(const Schedule &schedule, const CreditMemory &memory,
                   std::vector<int64_t> &credits);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SIMULATION_MEMORYCAP_H
