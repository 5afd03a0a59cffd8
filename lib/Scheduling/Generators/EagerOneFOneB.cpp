//===- EagerOneFOneB.cpp - 1F1B with what hides its hops ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a hop takes as long as a forward (hopRatio 1):
//
//   rank 0 FFFFFF          BBFBBF  BB BBBB BBBB BB
//          012345          006117  22 3344 5566 77
//   rank 1   FFFFF      BBFBB  FBBFBBBB BBBB BB
//            01234      00511  62273344 5566 77
//   rank 2     FFF   BBFBBFBBFBB FBBFBBBB BB
//              012   00311422533 64475566 77
//   rank 3       FBBFBBFBBFBBFBBFBBFBBFBB
//                000111222333444555666777
//
// The first gradient of rank r comes q (F + B) + 2 (q - 1) c after its first
// forward began, q = p - r. One microbatch begins in every F + B, so that many
// have begun until then as that time holds F + B, rounded up. For B = 2F the
// hops add 2 (q - 1) c / (3 F) to the q of 1F1B.
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"
#include "Builder.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

Result<Schedule> generateEagerOneFOneB(const ScheduleShape &shape) {
  Result<double> ratio = checkHopRatio("eager-1f1b", shape);
  if (!ratio)
    return ratio.error();
  return alternate("eager-1f1b", shape, [&](int64_t ranksFromEnd) {
    // A hair less, so that what is a whole number but for rounding stays one.
    double more = std::ceil(2 * double(ranksFromEnd - 1) * *ratio / 3 - 1e-9);
    return ranksFromEnd +
           int64_t(std::clamp(more, 0., double(shape.microbatches)));
  });
}

} // namespace stagewright
