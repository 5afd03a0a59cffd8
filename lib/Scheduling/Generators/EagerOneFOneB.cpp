//===- EagerOneFOneB.cpp - 1F1B with warm-up that hides hops --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If a hop takes as long as a forward (hopRatio 1):
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
// Let c be the time of a hop. A cycle between ranks r and r + 1 has B on r + 1,
// a hop, B and F on r, a hop, and F on r + 1: 2 (F + B + c) in all. If r warms
// up with d more forwards than r + 1, it runs d + 1 microbatches per cycle, so
// neither waits if (d + 1)(F + B) is at least as long. Hence 1F1B (d = 1) loses
// time at any hop, and d = 1 + k does not if the integer k is at least
// 2 c / (F + B). Every hop needs this k: a smaller one slows down all ranks.
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
  // Subtract a little, so that rounding errors do not raise an exact integer.
  double more = std::ceil(2 * *ratio / 3 - 1e-9);
  int64_t perHop = int64_t(std::clamp(more, 0., double(shape.microbatches)));
  return alternate("eager-1f1b", shape, [=](int64_t ahead, int64_t own) {
    return ahead + (ahead - own) * perHop;
  });
}

} // namespace stagewright
