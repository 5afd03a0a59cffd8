//===- Numbers.h - PTX types in registers -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_NUMBERS_H
#define STAGEWRIGHT_TEST_CUDA_PTX_NUMBERS_H

#include "../Floats.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace emulator::ptx {

/// Two 16-bit numbers in one 32-bit register, the first in the low half.
template <typename T> struct Pair {
  T low, high;
};

template <typename T> T get(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T)); // Little-endian, as on the device.
  return value;
}
template <> inline bool get<bool>(uint64_t bits) { return bits & 1; }

template <typename T> uint64_t put(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// The PTX names of a type.
template <typename T> struct Word;
#define EMULATOR_WORD(Type, ...)                                               \
  template <> struct Word<Type> {                                              \
    static constexpr const char *names[] = {__VA_ARGS__};                      \
  }
EMULATOR_WORD(bool, "pred");
EMULATOR_WORD(uint8_t, "u8", "b8");
EMULATOR_WORD(int8_t, "s8");
EMULATOR_WORD(uint16_t, "u16", "b16");
EMULATOR_WORD(int16_t, "s16");
EMULATOR_WORD(uint32_t, "u32", "b32");
EMULATOR_WORD(int32_t, "s32");
EMULATOR_WORD(uint64_t, "u64", "b64");
EMULATOR_WORD(int64_t, "s64");
EMULATOR_WORD(float, "f32");
EMULATOR_WORD(double, "f64");
EMULATOR_WORD(Bfloat16, "bf16");
EMULATOR_WORD(Half, "f16");
EMULATOR_WORD(Pair<Bfloat16>, "bf16x2");
EMULATOR_WORD(Pair<Half>, "f16x2");
#undef EMULATOR_WORD

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_NUMBERS_H
