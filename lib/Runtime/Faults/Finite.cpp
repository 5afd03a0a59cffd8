//===- Finite.cpp - finds infinities and NaNs -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults/Finite.h"

#include "Artifact/Manifest.h"
#include "DType.h"
#include "Rank.h"

#include <algorithm>

namespace stagewright::runtime {

/// The first element that is not finite: all bits of its exponent are set; -1:
/// none. The first loop tests a block without a branch, so that it is
/// vectorized. Most blocks need no second loop.
template <typename Bits>
static int64_t find(const std::byte *data, int64_t count, Bits exponent) {
  const auto *bits = reinterpret_cast<const Bits *>(data);
  constexpr int64_t block = 4096;
  for (int64_t from = 0; from < count; from += block) {
    int64_t to = std::min(count, from + block);
    Bits any = 0;
    for (int64_t i = from; i < to; ++i)
      any |= Bits((bits[i] & exponent) == exponent);
    for (int64_t i = from; any && i < to; ++i)
      if ((bits[i] & exponent) == exponent)
        return i;
  }
  return -1;
}

int64_t findNotFinite(sw_dtype dtype, const std::byte *data, int64_t count) {
  switch (dtype) {
  case SW_F32:
    return find<uint32_t>(data, count, 0x7f800000U);
  case SW_F64:
    return find<uint64_t>(data, count, 0x7ff0000000000000U);
  case SW_F16:
    return find<uint16_t>(data, count, 0x7c00U);
  case SW_BF16:
    return find<uint16_t>(data, count, 0x7f80U);
  default:
    return -1;
  }
}

std::string describeNotFinite(const Manifest &manifest, const sw_rank &rank) {
  bool updates =
      std::any_of(manifest.results.begin(), manifest.results.end(),
                  [](const Interface &it) { return it.role == "parameter"; });
  const char *checked = updates ? "parameter" : "gradient";
  for (size_t b = 0; b < rank.described->buffers.size(); ++b) {
    const Buffer &buffer = rank.described->buffers[b];
    if (buffer.result < 0)
      continue;
    const Interface &result = manifest.results[size_t(buffer.result)];
    if (result.role != "loss" && result.role != checked)
      continue;
    int64_t turn = 0; // The first microbatch that the rank has of the result.
    while (!buffer.has(turn))
      ++turn;
    if (turn >= rank.microbatches)
      continue;
    int64_t place = findNotFinite(result.dtype,
                                  rank.arena + rank.layout->buffers[b].at(turn),
                                  buffer.bytes / dtypeSize(result.dtype));
    if (place >= 0)
      return result.role + " '" + result.name +
             "' is infinite or not a number" +
             (buffer.bytes > dtypeSize(result.dtype)
                  ? " at element " + std::to_string(place)
                  : "") +
             (result.role == "parameter" ? " after the update" : "");
  }
  return "";
}

} // namespace stagewright::runtime
