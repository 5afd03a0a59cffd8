//===- Threefry.cpp - random keys as in JAX -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Threefry.h"

#include <bit>

namespace stagewright::runtime {

/// Encrypts the counter (0, number) with Threefry-2x32, 20 rounds (Salmon,
/// Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
std::array<uint32_t, 2> foldIn(std::array<uint32_t, 2> key, uint32_t number) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  uint32_t x = keys[0], y = number + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : rotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

} // namespace stagewright::runtime
