//===- InterleavedZb.cpp - interleaved, with I and W apart ----------------===//
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
// As the last rank needs no W to go on, one microbatch for every hop to it is
// enough to warm up with; rank r puts W off by r of its actions, as in ZB-H1.
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "Rounds.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> generateInterleavedZb(const ScheduleShape &shape) {
  constexpr const char *kKind = "interleaved-zb";
  using enum ActionKind;
  Result<Schedule> schedule =
      startSchedule(kKind, shape, Placement::Loop, 2, 0);
  if (!schedule)
    return schedule;
  Result<int64_t> group = checkGroup(kKind, shape);
  if (!group)
    return group.error();
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    Builder order(schedule->stages, shape.forwardOnly);
    std::vector<int64_t> forwards = rounds(shape, rank, *group, false);
    std::vector<int64_t> backwards = rounds(shape, rank, *group, true);
    size_t count = forwards.size(), behind = rank;
    size_t warmUp = std::min<size_t>(
        (shape.chunks - 1) * *group + shape.ranks - 1 - rank, count);
    for (size_t i = 0; i < warmUp + count + behind; ++i) {
      if (i < count)
        order.run(Forward, forwards[i]);
      if (i >= warmUp && i < warmUp + count)
        order.run(InputGradient, backwards[i - warmUp]);
      if (i >= warmUp + behind)
        order.run(WeightGradient, backwards[i - warmUp - behind]);
    }
    schedule->ranks.push_back(order.take());
  }
  return schedule;
}

} // namespace stagewright
