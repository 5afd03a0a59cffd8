//===- VMin.cpp - V placement with minimal memory -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks in the form of a V, the second in lower case:
//
//   rank 0 FFF    fiw  fiwIWF fiIwWFfiIwWFfiIwWFfiIwWFfiIwW fiIwW   IW
//          012    000  111003 22121433232544343655454766565 77676   77
//   rank 1  FFF  f  iwf  IiWwfFIiWwfFIiWwfFIiWwfFIiWwfFIiWwf IiWw  IW
//           012  0  001  01012312123423234534345645456756567 6767  77
//   rank 2   FF f f  iwFIW ifwIFWifwIFWifwIFWifwIFWifwIFWifwIW iw IW
//            01 0 1  00200 12113123224234335345446456557567666 77 77
//   rank 3    FfFf    iIwWFfiIwWFfiIwWFfiIwWFfiIwWFfiIwWFfiIwW  iIwW
//             0011    0000221111332222443333554444665555776666  7777
//
// The F and I of a microbatch follow one another without delay, so that it is
// held as briefly as possible: 4p slots on rank 0 (4p + 2 if 3 divides p). One
// microbatch starts every 6 slots.
//
//===----------------------------------------------------------------------===//

#include "VBlock.h"

namespace stagewright {

Result<Schedule> generateVMin(const ScheduleShape &shape) {
  int64_t p = shape.ranks;
  // Delays the I so that no two slots of a rank are equal modulo 6.
  int64_t shift = p % 3 == 0 ? 2 : 0;
  return repeatBlock("v-min", shape, [=](int64_t rank) {
    return VBlock{rank, 2 * p - rank - 1, 2 * p + shift + rank,
                  4 * p + shift - rank - 1};
  });
}

} // namespace stagewright
