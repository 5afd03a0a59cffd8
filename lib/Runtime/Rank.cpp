//===- Rank.cpp - running a rank's program --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rank.h"

#include "Faults/Finite.h"

namespace stagewright::runtime {

static void requireFinite(sw_rank &rank) {
  std::string wrong = describeNotFinite(*rank.finite, rank);
  if (!wrong.empty())
    rank.transport->fail(rank.index, wrong);
}

void runRank(sw_rank &rank, sw_entry entry) {
  // Nothing with a destructor may live here: generated code leaves by longjmp.
  jmp_buf frame;
  rank.where->begin();
  if (rank.injection)
    rank.injection->beginStep();
  if (rank.chooser)
    rank.chooser->begin();
  threadContext() = {&rank, &frame, false};
  if (_setjmp(frame) == 0) {
    entry(&rank, rank.microbatches);
    if (rank.finite)
      requireFinite(rank);
    rank.where->leave(/*atEnd=*/true);
  } else {
    rank.where->leave(/*atEnd=*/false);
  }
  threadContext() = {};
  rank.transport->finish(rank.index);
}

} // namespace stagewright::runtime
