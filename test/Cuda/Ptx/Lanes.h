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

#include <tuple>
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

/// The PTX names of a type: {"u32", "b32"}.
template <typename T> std::vector<std::string> namesOf() {
  std::string bits = std::to_string(8 * sizeof(T));
  if constexpr (std::is_same_v<T, bool>)
    return {"pred"};
  else if constexpr (std::is_unsigned_v<T>)
    return {"u" + bits, "b" + bits};
  else if constexpr (std::is_integral_v<T>)
    return {"s" + bits};
  else if constexpr (requires(T pair) { pair.low; })
    return {namesOf<decltype(T::low)>()[0] + "x2"};
  else
    return {(std::is_same_v<T, Bfloat16> ? "bf" : "f") + bits};
}

/// The operands and the result of one operation in all lanes.
struct Lanes {
  uint32_t mask; ///< lanes that take part
  uint64_t *out;
  std::array<const uint64_t *, 4> in = {};
};

/// Computes a function of up to four operands in all lanes of the mask. What it
/// returns becomes a T, but uint64_t and bool are the bits of the result.
template <typename T, typename Function, typename R, typename... Operands>
Handler handlerFor(R (Function::*)(Operands...) const) {
  return [](Lanes &it) {
    constexpr bool isBits =
        std::is_same_v<R, bool> || std::is_same_v<R, uint64_t>;
    for (size_t lane = 0; lane < warpSize; ++lane) {
      if (!(it.mask >> lane & 1))
        continue;
      size_t i = 0;
      auto next = [&] { return it.in[i] ? it.in[i++][lane] : 0; };
      std::tuple<Operands...> operands = {get<Operands>(next())...};
      std::conditional_t<isBits, R, T> result(std::apply(Function(), operands));
      it.out[lane] = put(result);
    }
  };
}
template <typename T, typename Function> Handler handler(Function) {
  return handlerFor<T>(&Function::operator());
}

/// Operations by opcode: "cvt.rn.bf16.f32".
using Table = std::unordered_map<std::string, Handler>;

/// Defines `name.T`.
template <typename T, typename Function>
void define(Table &table, const std::string &name, Function function) {
  for (const std::string &type : namesOf<T>())
    table[name + "." + type] = handler<T>(function);
}

void defineIntegers(Table &table);
void defineFloats(Table &table);
/// Defines cvt, setp and selp.
void defineConversions(Table &table);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_LANES_H
