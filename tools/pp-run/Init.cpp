//===- Init.cpp - values for arguments that have none ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Init.h"
#include "DType.h"
#include "Error.h"
#include "Threefry.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

using namespace stagewright::runtime;
using nlohmann::json;

static constexpr double kDeviation = 0.02;

/// Writes element i of a floating type as `value(i)`.
template <typename T>
static void fill(std::vector<std::byte> &bytes,
                 const std::function<double(size_t)> &value) {
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T element = T(value(i));
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
}

/// bf16 by its bits: float32 to the nearest, of two the even one.
struct BFloat16 {
  uint16_t bits;
  explicit BFloat16(double value) {
    uint32_t word = std::bit_cast<uint32_t>(float(value));
    bits = uint16_t((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
};

/// Standard normal numbers by Box and Muller, of uniform ones by threefry.
static double normal(std::array<uint32_t, 2> key, size_t i) {
  auto [first, second] = foldIn(foldIn(key, uint32_t(i >> 32)), uint32_t(i));
  double radius = std::sqrt(-2 * std::log((double(first) + 0.5) * 0x1p-32));
  return radius * std::cos(2 * std::numbers::pi * double(second) * 0x1p-32);
}

static bool isBias(const std::string &name) {
  std::string last = name.substr(name.find_last_of("/.") + 1);
  return last == "b" || last == "beta" || last == "offset" ||
         last.find("bias") != std::string::npos;
}

std::vector<std::byte> initialValue(const json &argument, const Described &it,
                                    uint32_t seed) {
  std::string role = argument.at("role"), name = argument.at("name");
  std::vector<std::byte> bytes(
      size_t(tensorBytes(it.dtype, it.shape).value_or(0)));
  if (role == "constant")
    raise("--init has no value for the constant '", name,
          "'; give it with --inputs or --step-values");
  if (role == "seed") { // the last word of every key
    for (size_t i = 4; i < bytes.size(); i += 8)
      std::memcpy(bytes.data() + i, &seed, 4);
    return bytes;
  }
  std::array<uint32_t, 2> key = foldIn({0, seed}, uint32_t(it.position));
  std::function<double(size_t)> value;
  if (role == "batch")
    value = [&](size_t i) { return normal(key, i); };
  else if (role != "parameter" || (it.shape.size() < 2 && isBias(name)))
    return bytes;
  else if (it.shape.size() < 2)
    value = [](size_t) { return 1.0; };
  else
    value = [&](size_t i) { return kDeviation * normal(key, i); };
  switch (it.dtype) {
  case SW_F64:
    fill<double>(bytes, value);
    break;
  case SW_F32:
    fill<float>(bytes, value);
    break;
  case SW_F16:
    fill<_Float16>(bytes, value);
    break;
  case SW_BF16:
    fill<BFloat16>(bytes, value);
    break;
  default:
    if (role == "parameter")
      raise("--init has no value for the parameter '", name, "' of type ",
            dtypeName(it.dtype), "; give it with --inputs");
  }
  return bytes;
}
