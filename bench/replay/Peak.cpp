//===- Peak.cpp - what a core can do --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace {

// Twelve sums hide a latency of up to six cycles at two operations a cycle,
// and with the factors they fit sixteen registers.
constexpr int sums = 12;
constexpr int64_t turns = 2000000;
volatile float sink;

template <typename Vector>
[[gnu::always_inline]] inline void multiplyAdd(int64_t count) {
  Vector sum[sums];
  for (int i = 0; i < sums; ++i)
    sum[i] = Vector{} + float(i); // equal sums would be computed once
  Vector factor = Vector{} + 0.999f, term = Vector{} + 1e-3f;
  for (int64_t turn = 0; turn < count; ++turn)
    for (int i = 0; i < sums; ++i)
      sum[i] = sum[i] * factor + term;
  for (int i = 1; i < sums; ++i)
    sum[0] += sum[i];
  sink = sum[0][0];
}

using Four [[gnu::vector_size(16)]] = float;
void narrow(int64_t count) { multiplyAdd<Four>(count); }
#if defined(__x86_64__)
using Eight [[gnu::vector_size(32)]] = float;
using Sixteen [[gnu::vector_size(64)]] = float;
[[gnu::target("avx2,fma")]] void avx2(int64_t count) {
  multiplyAdd<Eight>(count);
}
[[gnu::target("avx512f,fma")]] void avx512(int64_t count) {
  multiplyAdd<Sixteen>(count);
}
#endif

/// The max of `amount` per second over ten tries.
template <typename Body> double best(double amount, Body body) {
  using Clock = std::chrono::steady_clock;
  double most = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    auto start = Clock::now();
    body();
    std::chrono::duration<double> took = Clock::now() - start;
    most = std::max(most, amount / took.count());
  }
  return most;
}

} // namespace

double peakFlops() {
  auto rate = [](void (*body)(int64_t), int width) {
    return best(2.0 * sums * width * double(turns), [&] { body(turns); });
  };
  double most = rate(narrow, 4);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    most = std::max(most, rate(avx2, 8));
  if (__builtin_cpu_supports("avx512f"))
    most = std::max(most, rate(avx512, 16));
#endif
  return most;
}

double peakBandwidth() {
  std::vector<uint64_t> block(size_t(1) << 25, 1); // 256 MiB
  return best(double(block.size() * sizeof(uint64_t)), [&] {
    uint64_t sum[8] = {};
    for (size_t i = 0; i < block.size(); i += 8)
      for (size_t j = 0; j < 8; ++j)
        sum[j] += block[i + j];
    uint64_t all = 0;
    for (uint64_t one : sum)
      all += one;
    sink = float(all);
  });
}
