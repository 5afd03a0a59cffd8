//===- Warp.cpp - computations, moves and shuffles of a warp --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

Lanes Warp::lanesOf(Plane plane) {
  Lanes made = {active, row(it->operands[0], plane).data()};
  for (size_t i = 1; i < it->operands.size() && i <= 4; ++i)
    made.in[i - 1] = read(it->operands[i], plane).data();
  return made;
}

void Warp::compute() {
  Lanes given = lanesOf(values);
  if (hasUnwritten())
    carry(*it, given, lanesOf(unwritten));
  it->handler(given);
}

/// Copies a value, packs values into one register, or unpacks one.
void Warp::move() {
  auto to = partsOf(it->operands[0]), from = partsOf(it->operands[1]);
  size_t bits = 8 * size_t(it->bytes), taken = bits / from.size(),
         given = bits / to.size();
  auto low = [](uint64_t value, size_t bits) {
    return value & (~uint64_t(0) >> (64 - bits));
  };
  for (Plane plane : used()) {
    Row joined = {};
    for (size_t p = 0; p < from.size(); ++p) {
      const Row &part = read(from[p], plane);
      for (size_t i = 0; i < warpSize; ++i)
        joined[i] |= low(part[i], taken) << taken * p;
    }
    for (size_t p = 0; p < to.size(); ++p)
      forLanes(active, [&] {
        row(to[p], plane)[lane] = low(joined[lane] >> given * p, given);
      });
  }
}

void Warp::shuffle() {
  if (!active)
    return;
  for (size_t i = 2; i < 5; ++i)
    requireWritten(it->operands[i], "an operand");
  const Row &b = read(it->operands[2]), &c = read(it->operands[3]),
            &members = read(it->operands[4]);
  auto first = size_t(std::countr_zero(active));
  // `wanted`: lanes of the members' mask; `here`: lanes that have arrived.
  auto wanted = uint32_t(members[first]) & lanes & ~left;
  uint32_t here = active;
  forLanes(atShuffle,
           [&] { here |= uint32_t(next[lane] == next[first]) << lane; });
  forLanes(active, [&] {
    REQUIRE(members[lane] >> lane & 1, "is not in the mask of its own shuffle");
  });
  atShuffle |= active;
  active = (here & wanted) == wanted ? here : 0;
  if (!active)
    return; // Others have not arrived yet.
  atShuffle &= ~here;
  std::string_view mode = it->words[2];
  std::array<size_t, warpSize> source;
  forLanes(here, [&] {
    int self = int(lane), by = int(b[lane] & 31), clamp = int(c[lane] & 31);
    int segment = int(c[lane] >> 8 & 31);
    int begin = self & segment, last = begin | (clamp & ~segment);
    int from = mode == "up"     ? self - by
               : mode == "down" ? self + by
               : mode == "bfly" ? self ^ by
                                : begin | (by & ~segment);
    if (mode == "up" ? from < last : from > last)
      from = self;
    REQUIRE(here >> from & 1, "takes the value of lane %d, which is not there",
            from);
    source[lane] = size_t(from);
    ++next[lane];
  });
  auto exchange = [&](auto from, auto &to) {
    forLanes(here, [&] { to[lane] = from[source[lane]]; });
  };
  exchange(gathered, gathered);
  for (Plane plane : used())
    exchange(read(it->operands[1], plane), row(it->operands[0], plane));
}

const Row &Warp::read(const Operand &operand, Plane plane) {
  static const Row zeros = {};
  if (operand.kind == Operand::Register && (plane == values || hasUnwritten()))
    return row(operand, plane);
  return plane == values ? block->kernel.constants[operand.number] : zeros;
}

} // namespace emulator::ptx
