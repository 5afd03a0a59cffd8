//===- Rank.cpp - running a rank's program --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rank.h"

namespace stagewright::runtime {

void runRank(sw_rank &rank, sw_entry entry) {
  // Nothing with a destructor may live here: generated code leaves by longjmp.
  jmp_buf frame;
  here() = {&rank, &frame, false};
  if (_setjmp(frame) == 0)
    entry(&rank, rank.microbatches);
  here() = {};
  rank.transport->finish(rank.index);
}

} // namespace stagewright::runtime
