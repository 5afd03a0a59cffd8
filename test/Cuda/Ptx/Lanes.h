//===- Lanes.h - one operation in the lanes of a warp -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_LANES_H
#define STAGEWRIGHT_TEST_CUDA_PTX_LANES_H

#include "Module.h"
#include "Numbers.h"

#include <unordered_map>

namespace emulator::ptx {

/// The operands and the result of one operation in all lanes.
struct Lanes {
  uint32_t mask; ///< lanes that take part
  uint64_t *out;
  std::array<const uint64_t *, 4> in = {};
};

/// Computes `function(a, b, c, d)` on raw bits in all lanes of the mask.
template <typename Function> void forLanes(Lanes &it, Function function) {
  static const Row zero = {};
  const uint64_t *a = it.in[0] ? it.in[0] : zero.data();
  const uint64_t *b = it.in[1] ? it.in[1] : zero.data();
  const uint64_t *c = it.in[2] ? it.in[2] : zero.data();
  const uint64_t *d = it.in[3] ? it.in[3] : zero.data();
  for (int lane = 0; lane < warpSize; ++lane)
    if (it.mask >> lane & 1)
      it.out[lane] = function(a[lane], b[lane], c[lane], d[lane]);
}

using Table = std::unordered_map<std::string, Handler>;

/// Adds `name.T` for every type T; the function takes one, two or three T.
template <typename... Types, typename Function>
void define(Table &table, const std::string &name, Function) {
  auto one = [&]<typename T>(Word<T>) {
    Handler handler = [](Lanes &it) {
      forLanes(it, [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
        if constexpr (std::is_invocable_v<Function, T, T, T>)
          return put<T>(T(Function()(get<T>(a), get<T>(b), get<T>(c))));
        else if constexpr (std::is_invocable_v<Function, T, T>)
          return put<T>(T(Function()(get<T>(a), get<T>(b))));
        else
          return put<T>(T(Function()(get<T>(a))));
      });
    };
    for (const char *type : Word<T>::names)
      table.emplace(name + "." + type, handler);
  };
  (one(Word<Types>()), ...);
}

/// Add the operations of one file to the table.
void defineIntegers(Table &table);
void defineFloats(Table &table);
void defineComparisons(Table &table);
/// The handler of a conversion such as cvt.rn.bf16.f32, or null.
Handler conversionOf(const std::vector<std::string> &words);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_LANES_H
