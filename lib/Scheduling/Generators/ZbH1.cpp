//===- ZbH1.cpp - zero bubble in the memory of 1F1B -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   rank 0 FFFF   IWFIWFIWFIWFIWIWIWIW
//          0123   00411522633744556677
//   rank 1  FFF  IFIWFIWFIWFIWFIWIWIWW
//           012  031042153264375465767
//   rank 2   FF IFIFIWFIWFIWFIWFIWIWWW
//            01 0213204315426537647567
//   rank 3    FIFIFIFIWFIWFIWFIWFIWWWW
//             001122330441552663774567
//
// 1F1B, but the previous stage waits only for I, and W fills the gaps. Rank r
// delays W by r microbatches, so every rank holds as much as rank 0.
//
//===----------------------------------------------------------------------===//

#include "ZeroBubble.h"

namespace stagewright {

Result<Schedule> generateZbH1(const ScheduleShape &shape) {
  return zeroBubble("zb-h1", shape,
                    [](int64_t hopsToEnd) { return hopsToEnd; });
}

} // namespace stagewright
