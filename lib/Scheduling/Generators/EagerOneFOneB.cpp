//===- EagerOneFOneB.cpp - 1F1B with what hides its hops ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a hop takes as long as a forward (hopRatio 1):
//
//   rank 0 FFFFFFF         BBFBB BB BB BB BB BB BB
//          0123456         00711 22 33 44 55 66 77
//   rank 1   FFFFF      BBFBBFBBFBB BB BB BB BB
//            01234      00511622733 44 55 66 77
//   rank 2     FFF   BBFBBFBBFBBFBBFBB BB BB
//              012   00311422533644755 66 77
//   rank 3       FBBFBBFBBFBBFBBFBBFBBFBB
//                000111222333444555666777
//
// Between two neighbours a backward goes up, then a forward down: B and hop, B
// and F of the upper rank, hop and F of the lower one, 2 (F + B + c) in all. If
// the upper rank warms up with d more forwards than the lower one, d + 1
// microbatches have passed since: it waits for none where (d + 1)(F + B) is as
// long. So 1F1B's d = 1 loses time to the shortest hop, and d = 1 + k needs k
// of at least 2 c / (F + B), a whole number, at every hop; a smaller k at some
// of them would slow down all ranks.
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
  // A hair less, so that what is a whole number but for rounding stays one.
  double more = std::ceil(2 * *ratio / 3 - 1e-9);
  int64_t perHop = int64_t(std::clamp(more, 0., double(shape.microbatches)));
  return alternate("eager-1f1b", shape, [=](int64_t ahead, int64_t own) {
    return ahead + (ahead - own) * perHop;
  });
}

} // namespace stagewright
