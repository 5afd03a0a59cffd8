//===- DType.cpp - element types ------------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DType.h"

#include <array>

namespace stagewright::runtime {

namespace {
struct Entry {
  std::string_view name, upper;
  int64_t size;
};
// In the order of sw_dtype.
constexpr std::array<Entry, 15> table = {{{"f32", "F32", 4},
                                          {"f64", "F64", 8},
                                          {"f16", "F16", 2},
                                          {"bf16", "BF16", 2},
                                          {"i8", "I8", 1},
                                          {"i16", "I16", 2},
                                          {"i32", "I32", 4},
                                          {"i64", "I64", 8},
                                          {"u8", "U8", 1},
                                          {"u32", "U32", 4},
                                          {"u64", "U64", 8},
                                          {"bool", "BOOL", 1},
                                          {"u16", "U16", 2},
                                          {"f8e4m3fn", "F8_E4M3", 1},
                                          {"f8e5m2", "F8_E5M2", 1}}};

const Entry *find(int32_t dtype) {
  return dtype >= 0 && size_t(dtype) < table.size() ? &table[dtype] : nullptr;
}
} // namespace

std::string_view dtypeName(int32_t dtype) {
  const Entry *entry = find(dtype);
  return entry ? entry->name : "unknown";
}

std::string_view dtypeUpperName(int32_t dtype) {
  const Entry *entry = find(dtype);
  return entry ? entry->upper : "UNKNOWN";
}

std::optional<sw_dtype> dtypeFromName(std::string_view name, bool upper) {
  for (size_t i = 0; i < table.size(); ++i)
    if ((upper ? table[i].upper : table[i].name) == name)
      return sw_dtype(i);
  return std::nullopt;
}

int64_t dtypeSize(int32_t dtype) {
  const Entry *entry = find(dtype);
  return entry ? entry->size : 0;
}

std::optional<int64_t> tensorBytes(int32_t dtype,
                                   std::span<const int64_t> shape) {
  int64_t bytes = dtypeSize(dtype);
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes) ||
        bytes > (int64_t(1) << 62))
      return std::nullopt;
  return bytes;
}

} // namespace stagewright::runtime
