//===- InitialValues.cpp - initial values for arguments -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/InitialValues.h"
#include "DType.h"
#include "Elements.h"
#include "Training/Threefry.h"
#include "stagewright/Runtime/Error.h"

#include <cmath>
#include <cstring>
#include <numbers>

namespace stagewright::runtime {

using nlohmann::json;

static constexpr double kDeviation = 0.02;

/// Standard normal numbers by Box-Muller, from uniform ones by threefry.
static double normal(std::array<uint32_t, 2> key, uint32_t i) {
  auto [first, second] = foldIn(key, i);
  double radius = std::sqrt(-2 * std::log((double(first) + 0.5) * 0x1p-32));
  return radius * std::cos(2 * std::numbers::pi * double(second) * 0x1p-32);
}

static bool isFloating(sw_dtype dtype) {
  return dtype == SW_F64 || dtype == SW_F32 || dtype == SW_F16 ||
         dtype == SW_BF16;
}

static bool isBias(const std::string &name) {
  std::string last = name.substr(name.find_last_of("/.") + 1);
  return last == "b" || last == "beta" || last == "offset" ||
         last.find("bias") != std::string::npos;
}

std::vector<std::byte>
initialValue(const json &argument, const TensorDescription &it, uint32_t seed) {
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
  bool isParameter = role == "parameter";
  bool isDrawn = role == "batch" || (isParameter && it.shape.size() > 1);
  if (!isDrawn && (!isParameter || isBias(name)))
    return bytes;
  if (!isFloating(it.dtype)) {
    if (isParameter)
      raise("--init has no value for the parameter '", name, "' of type ",
            dtypeName(it.dtype), "; give it with --inputs");
    return bytes;
  }
  std::array<uint32_t, 2> key = foldIn({0, seed}, uint32_t(it.position));
  std::array<uint32_t, 2> upper; // the key for 2^32 elements
  double deviation = isParameter ? kDeviation : 1;
  for (size_t i = 0; i < bytes.size() / size_t(dtypeSize(it.dtype)); ++i) {
    if (uint32_t(i) == 0)
      upper = foldIn(key, uint32_t(i >> 32));
    double value = isDrawn ? deviation * normal(upper, uint32_t(i)) : 1;
    writeElement(bytes.data(), it.dtype, int64_t(i), value);
  }
  return bytes;
}

} // namespace stagewright::runtime
