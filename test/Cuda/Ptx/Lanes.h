//===- Lanes.h - one operation in the lanes of a warp -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_LANES_H
#define STAGEWRIGHT_TEST_CUDA_PTX_LANES_H

#include "../Floats.h"
#include "Module.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <unordered_map>

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

/// The operands and the result of one operation in all lanes.
struct Lanes {
  uint32_t mask; ///< lanes that take part
  uint64_t *out;
  std::array<const uint64_t *, 4> in = {};
};

/// An operand, which a function takes as a type of its choice.
struct Bits {
  uint64_t raw;
  template <typename T> operator T() const { return get<T>(raw); }
};

/// Computes a function of one to four operands in all lanes of the mask. What
/// it returns becomes a T, but uint64_t and bool are the bits of the result.
template <typename T, typename Function> Handler handler(Function) {
  return [](Lanes &it) {
    static const Row zeros = {};
    auto in = [&](size_t i, size_t lane) {
      return Bits{(it.in[i] ? it.in[i] : zeros.data())[lane]};
    };
    auto call = [&](size_t lane) {
      constexpr Function function;
      Bits a = in(0, lane), b = in(1, lane), c = in(2, lane), d = in(3, lane);
      if constexpr (std::is_invocable_v<Function, Bits>)
        return function(a);
      else if constexpr (std::is_invocable_v<Function, Bits, Bits>)
        return function(a, b);
      else if constexpr (std::is_invocable_v<Function, Bits, Bits, Bits>)
        return function(a, b, c);
      else
        return function(a, b, c, d);
    };
    using Result = decltype(call(0));
    constexpr bool isBits =
        std::is_same_v<Result, bool> || std::is_same_v<Result, uint64_t>;
    using Stored = std::conditional_t<isBits, Result, T>;
    for (size_t lane = 0; lane < warpSize; ++lane)
      if (it.mask >> lane & 1)
        it.out[lane] = put<Stored>(Stored(call(lane)));
  };
}

/// The operations of one file, by opcode.
using Table = std::unordered_map<std::string, Handler>;

/// Defines `name.T`.
template <typename T, typename Function>
void define(Table &table, const std::string &name, Function function) {
  for (const char *type : Word<T>::names)
    table[name + "." + type] = handler<T>(function);
}

void defineIntegers(Table &table);
void defineFloats(Table &table);
void defineComparisons(Table &table);
/// Defines cvt, without this word: "rn.bf16.f32".
void defineConversions(Table &table);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_LANES_H
