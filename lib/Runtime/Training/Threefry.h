//===- Threefry.h - JAX's random numbers ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_THREEFRY_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_THREEFRY_H

#include <array>
#include <cstdint>

namespace stagewright::runtime {

/// The key that jax.random.fold_in returns for a threefry key and a number.
std::array<uint32_t, 2> foldIn(std::array<uint32_t, 2> key, uint32_t number);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_THREEFRY_H
