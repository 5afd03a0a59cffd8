//===- LoopedZbWide.cpp - looped-zb with more memory ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in small letters:
//
//   rank 0 FFFFffffFF iwiw IFWIiWiFwIfWIfwffWiw iIwWIiwWiwIWIW
//          0123012345 0011 06012137224235367344 54545665776677
//   rank 1  FFFFffffFiwiFwIWIiFWiwIFWIfwWf iffwiIwWIiwWiwIWIW
//           012301234001510012613227234335 467454545665776677
//   rank 2   FFFFfffifiwIFWIiwiFWIFwIFWfwWifwfiIfwIiwWiwIWIWW
//            012301203100401213512623724334546547556647765767
//   rank 3    FFFFfififIwIiWfiwFIWIFwFFWfiwWfiIfwIiWfiwIwIwWWW
//             012300112001203314213526724433554645647756677567
//
// Like looped-zb, but a rank may hold ceil(p / 8) more microbatches: if hops or
// unequal stages delay some, a rank can run others.
//
//===----------------------------------------------------------------------===//

#include "LoopWithin.h"

namespace stagewright {

Result<Schedule> generateLoopedZbWide(const ScheduleShape &shape) {
  return loopWithin("looped-zb-wide", shape, /*wide=*/true);
}

} // namespace stagewright
