//===- LoopedZb.cpp - zero-bubble loop in the memory of 1F1B --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in lower case:
//
//   rank 0 FFFFffffF  iwiw IWFIWiiwFIWFIwffWff  iw iwIWIWiwiwIWIW
//          012301234  0011 0051123262273345367  44 55445566776677
//   rank 1  FFFFffffFiwiw IW IiWiFwIFWIFwWff ffiw iwIWIWiwiwIWIW
//           0123012340011 00 121352262373345 6744 55445566776677
//   rank 2   FFFFfffiwifwIFWIiWiwwIFIFWWF  ff ifwiIWfIwiwiwIWIWW
//            0123012001310401213232536237  45 464544755667765767
//   rank 3    FFFFfifiwIfWIiwfiWFIwIFWFwWF  fifiwIfWIiwfiwIwIWWW
//             0123001100201213314223526337  44554464565776677567
//
// A rank delays W only while it holds at most p microbatches, the memory of
// 1F1B: these are enough work for the time in which a microbatch passes all
// chunks and returns. In the whole pipeline, ceil(p / 8) more may be in flight,
// held by other ranks.
//
//===----------------------------------------------------------------------===//

#include "LoopWithin.h"

namespace stagewright {

Result<Schedule> generateLoopedZb(const ScheduleShape &shape) {
  return loopWithin("looped-zb", shape, /*wide=*/false);
}

} // namespace stagewright
