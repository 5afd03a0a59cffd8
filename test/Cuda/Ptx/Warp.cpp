//===- Warp.cpp - computations, moves and shuffles of a warp --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

Lanes BlockRunner::lanesOf(Warp &warp, uint32_t mask, const Instruction &it,
                           Plane plane, Row *rooms) {
  Lanes lanes = {mask, warp.row(it.operands[0], plane).data()};
  for (size_t i = 1; i < it.operands.size() && i <= 4; ++i)
    lanes.in[i - 1] = read(warp, it.operands[i], rooms[i - 1], plane).data();
  return lanes;
}

void BlockRunner::compute(Warp &warp, uint32_t mask, const Instruction &it) {
  Row rooms[4];
  Lanes given = lanesOf(warp, mask, it, values, rooms);
  if (warp.hasUnwritten()) {
    Row more[4];
    Lanes bits = lanesOf(warp, mask, it, unwritten, more);
    Spread spread(warp, mask, it);
    carry(it, given, bits);
  }
  it.handler(given);
}

/// Copies a value, packs values into one register, or unpacks one.
void BlockRunner::move(Warp &warp, uint32_t mask, const Instruction &it) {
  std::span<const Operand> to = partsOf(it.operands[0]),
                           from = partsOf(it.operands[1]);
  auto join = [&](const Row &part, size_t place, size_t parts, Row &joined) {
    int bits = 8 * it.bytes / int(parts);
    for (size_t lane = 0; lane < warpSize; ++lane)
      joined[lane] |= (part[lane] & (~uint64_t(0) >> (64 - bits)))
                      << bits * int(place);
  };
  std::optional<Spread> spread;
  if (warp.hasUnwritten())
    spread.emplace(warp, mask, it);
  for (Plane plane : warp.used()) {
    Row joined = {}, room;
    for (size_t p = 0; p < from.size(); ++p)
      join(read(warp, from[p], room, plane), p, from.size(), joined);
    int bits = 8 * it.bytes / int(to.size());
    for (size_t p = 0; p < to.size(); ++p)
      for (size_t lane = 0; to[p].kind != Operand::None && lane < warpSize;
           ++lane)
        if (mask >> lane & 1)
          warp.row(to[p], plane)[lane] =
              joined[lane] >> bits * int(p) & (~uint64_t(0) >> (64 - bits));
  }
}

void BlockRunner::shuffle(Warp &warp, uint32_t mask, const Instruction &it) {
  if (!mask)
    return;
  Row rooms[3];
  for (size_t i = 2; i < 5; ++i)
    requireWritten(warp, mask, it.operands[i], it, "an operand");
  const Row &b = read(warp, it.operands[2], rooms[0]);
  const Row &c = read(warp, it.operands[3], rooms[1]);
  const Row &members = read(warp, it.operands[4], rooms[2]);
  int first = std::countr_zero(mask);
  int at = warp.next[size_t(first)];
  // `wanted`: lanes of the members' mask; `here`: lanes that have arrived.
  auto wanted = uint32_t(members[size_t(first)]) & warp.lanes & ~warp.left;
  uint32_t here = mask;
  for (size_t lane = 0; lane < warpSize; ++lane) {
    if ((warp.atShuffle >> lane & 1) && warp.next[lane] == at)
      here |= 1u << lane;
    if ((mask & ~members[lane]) >> lane & 1)
      refuse(warp, int(lane), it, "is not in the mask of its own shuffle");
  }
  warp.atShuffle |= mask;
  if ((here & wanted) != wanted)
    return; // Others have not arrived yet.
  warp.atShuffle &= ~here;
  std::string_view mode = it.words[2];
  std::array<int, warpSize> source;
  for (uint32_t left = here; left; left &= left - 1) {
    auto i = size_t(std::countr_zero(left));
    int lane = int(i), by = int(b[i] & 31), clamp = int(c[i] & 31);
    int segment = int(c[i] >> 8 & 31);
    int last = (lane & segment) | (clamp & ~segment), begin = lane & segment;
    int from = mode == "up"     ? lane - by
               : mode == "down" ? lane + by
               : mode == "bfly" ? lane ^ by
                                : begin | (by & ~segment);
    if (mode == "up" ? from < last : from > last)
      from = lane;
    if (!(here >> from & 1))
      refuse(warp, lane, it,
             "takes the value of lane " + std::to_string(from) +
                 ", which is not there");
    source[i] = from;
    ++warp.next[i];
  }
  auto exchange = [&](const auto &from, auto &to) {
    auto before = from;
    for (size_t lane = 0; lane < warpSize; ++lane)
      if (here >> lane & 1)
        to[lane] = before[size_t(source[lane])];
  };
  const Operand &from = it.operands[1], &to = it.operands[0];
  Row room;
  if (warp.hasUnwritten() && from.kind == Operand::Register)
    exchange(warp.origins[size_t(from.number)],
             warp.origins[size_t(to.number)]);
  for (Plane plane : warp.used())
    exchange(read(warp, from, room, plane), warp.row(to, plane));
}

const Row &BlockRunner::read(Warp &warp, const Operand &operand, Row &room,
                             Plane plane) {
  static const Row zeros = {};
  if (operand.kind == Operand::Address)
    return operand.parts.empty() ? zeros
                                 : read(warp, operand.parts[0], room, plane);
  if (plane == unwritten &&
      (operand.kind != Operand::Register || !warp.hasUnwritten()))
    return zeros;
  if (operand.kind == Operand::Constant)
    return kernel.constants[size_t(operand.number)];
  if (operand.kind == Operand::Special) {
    for (int lane = 0; lane < warpSize; ++lane)
      room[size_t(lane)] = special(warp, operand.number, lane);
    return room;
  }
  const Row &found = warp.row(operand, plane);
  if (!operand.inverted || plane == unwritten)
    return found;
  for (size_t lane = 0; lane < warpSize; ++lane)
    room[lane] = !(found[lane] & 1);
  return room;
}

uint64_t BlockRunner::special(const Warp &warp, int which, int lane) const {
  auto thread = unsigned(threadOf(warp, lane));
  auto [x, y, z] = launch.block;
  auto [gx, gy, gz] = launch.grid;
  const unsigned all[] = {thread % x,
                          thread / x % y,
                          thread / x / y,
                          x,
                          y,
                          z,
                          block[0],
                          block[1],
                          block[2],
                          gx,
                          gy,
                          gz,
                          unsigned(lane),
                          unsigned(warp.number)};
  return all[which];
}

} // namespace emulator::ptx
