//===- InterleavedZb.cpp - interleaved 1F1B with split backwards ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in small letters:
//
//   rank 0 FFFFffff   iwFiwFiwFiwFIWfIWfIWfIWfiwiwiwiwIWIWIWIW
//          01230123   0041152263370041152263374455667744556677
//   rank 1  FFFFfff  ifiwFiwFiwFIwFIWfIWfIWfiWfiwiwiwIwIWIWIWW
//           0123012  03104215326037104215326437546576475465767
//   rank 2   FFFFff ififiwFiwFIwFIwFIWfIWfiWfiWfiwiwIwIwIWIWWW
//            012301 021320431502613720431542653764754657647567
//   rank 3    FFFFfifififiwFIwFIwFIwFIWfiWfiWfiWfiwIwIwIwIWWWW
//             012300112233040151262373044155266377445566774567
//
// The last rank does not wait for W to continue, so warm-up needs only one
// microbatch per hop to it; on rank r a W runs r I later, as in ZB-H1.
//
//===----------------------------------------------------------------------===//

#include "Rounds.h"

namespace stagewright {

Result<Schedule> generateInterleavedZb(const ScheduleShape &shape) {
  return depthFirst("interleaved-zb", shape, /*forwardsPerHop=*/1,
                    /*split=*/true);
}

} // namespace stagewright
