//===- ZbH2Latency.cpp - zero bubble over slow links ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If a hop takes as long as a forward (hopRatio 1):
//
//   rank 0 FFFFFFFF     IWIWIWIWIWIWIWIW
//          01234567     0011223344556677
//   rank 1   FFFFFFFF I I I I IWIWIWIWWWWW
//            01234567 0 1 2 3 405162734567
//   rank 2     FFFFFIFIFIFI I I I IWWWWWWWW
//              012340516273 4 5 6 701234567
//   rank 3       FIFIFIFIFIFIFIFIWWWWWWWW
//                001122334455667701234567
//
// Like ZB-H2, but rank r runs floor(h x) more forwards first, where
// h = 2 (p - 1 - r) is the number of hops to the last rank and back, and
// x = min(hopRatio, 1). W are delayed by floor(2 r x) more microbatches, for
// the 2 r hops to the first rank and back.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "ZeroBubble.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> generateZbH2Latency(const ScheduleShape &shape) {
  Result<double> ratio = checkHopRatio("zb-h2-latency", shape);
  if (!ratio)
    return ratio.error();
  return zeroBubble("zb-h2-latency", shape, [&](int64_t hopsToEnd) {
    double transfers = 2 * double(hopsToEnd) * std::min(*ratio, 1.);
    return 2 * hopsToEnd + int64_t(transfers + 1e-9);
  });
}

} // namespace stagewright
