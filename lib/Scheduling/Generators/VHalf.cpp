//===- VHalf.cpp - a V schedule with half the memory ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in small letters; they go down and back up:
//
//   rank 0 FFFFF  fiwfiw fiIWwfFiIWwfFiIWwfFiIWwfiwIW fiwIWIW  IW
//          01234  000111 2200235311346422457533566644 7775566  77
//   rank 1  FFFF f fiw ifwIFWfiwIFWfiwIFWfiwIFWfiwIiWfw IiIWwWIW
//           0123 0 100 12104032215143326254437365546476 57657677
//   rank 2   FFFfFf  iwfiIWwfF IiWfwFIiWfwFIiWfwFIiWfwiIWIiwWIwW
//            012031  002100134 121425232536343647454756556766777
//   rank 3    FfFfFf  iwIFWfiwIFWfiwIFWfiwIFWfiwIFWfiwIiIWwiIWwW
//             001122  000303111414222525333636444747555665677677
//
// Forwards take two slots from stage to stage in the first chunk and one in the
// second, I the other way round, so that on every rank the lifetimes of the two
// activations, from F to W, add up to about 6 p slots, half of those of ZB-V.
//
//===----------------------------------------------------------------------===//

#include "VBlock.h"

namespace stagewright {

Result<Schedule> generateVHalf(const ScheduleShape &shape) {
  int64_t p = shape.ranks;
  // Delays I so that no two slots of a rank are equal modulo 6.
  int64_t shift = p % 2 == 0 ? 3 : 0;
  return repeatBlock("v-half", shape, [=](int64_t rank) {
    return VBlock{2 * rank, 3 * p - rank - 2, 3 * p + shift + 2 * rank - 1,
                  6 * p + shift - rank - 2};
  });
}

} // namespace stagewright
