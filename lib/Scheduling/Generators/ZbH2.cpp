//===- ZbH2.cpp - zero bubble in twice the memory -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   rank 0 FFFFFFFIWFIWIWIWIWIWIWIW
//          012345600711223344556677
//   rank 1  FFFFFIFIFIWFIWIWIWIWIWWW
//           012340516207314253647567
//   rank 2   FFFIFIFIFIFIWFIWIWIWWWWW
//            012031425364075162734567
//   rank 3    FIFIFIFIFIFIFIWFIWWWWWWW
//             001122334455660771234567
//
// Twice as many warm-up forwards as in ZB-H1 fill the time until the first
// gradient arrives, and twice as many delayed W the time after the last one.
// The variant for hops that take time is `zb-h2-latency` (ZbH2Latency.cpp).
//
//===----------------------------------------------------------------------===//

#include "ZeroBubble.h"

namespace stagewright {

Result<Schedule> generateZbH2(const ScheduleShape &shape) {
  return zeroBubble("zb-h2", shape,
                    [](int64_t hopsToEnd) { return 2 * hopsToEnd; });
}

} // namespace stagewright
