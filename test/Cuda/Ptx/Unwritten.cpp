//===- Unwritten.cpp - values that nothing has written --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in Valgrind's memcheck, a load of bytes that nothing wrote is no error,
// nor are moves, stores and sums of its value. It is reported where it decides
// a branch, is an address, or leaves the device. Each register therefore has a
// second row of bits, as the plane `unwritten`.
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

void Warp::notice(const Place &from, int bytes) {
  if (hasUnwritten() || !std::memchr(from.marks, 0, size_t(bytes)))
    return;
  planes[unwritten].resize(planes[values].size());
  origins.resize(planes[values].size());
}

void Warp::requireWritten(const Operand &operand, const char *what) {
  const Row &bits = read(operand, unwritten);
  forLanes(active, [&] {
    if (!bits[lane])
      return;
    auto [at, load] = origins[operand.number][lane];
    Space space = load->spaceOf(at);
    const char *name = space == Space::Shared  ? "shared memory at "
                       : space == Space::Local ? "local memory at "
                                               : "";
    throw Violation(text("uses %s that was never written: line %d '%s' has "
                         "loaded it from %s%#lx",
                         what, load->line, load->text.c_str(), name,
                         at & ~(sharedWindow | localWindow)));
  });
}

void Warp::gatherOrigins() {
  if (!hasUnwritten())
    return;
  gathered = {};
  Origin any;
  for (const Operand &operand : std::views::drop(it->operands, 1))
    for (const Operand &part : partsOf(operand))
      for (size_t i = 0; part.kind == Operand::Register && i < warpSize; ++i)
        if (!gathered[i].load && row(part, unwritten)[i])
          any = gathered[i] = origins[part.number][i];
  for (Origin &it : gathered) // Products depend on other lanes.
    if (!it.load)
      it = any;
}

void Warp::spreadOrigins() {
  if (!hasUnwritten() || it->operands.empty())
    return;
  for (const Operand &part : partsOf(it->operands[0]))
    if (part.kind == Operand::Register)
      forLanes(active, [&] {
        if (row(part, unwritten)[lane] && gathered[lane].load)
          origins[part.number][lane] = gathered[lane];
      });
}

/// The number of leading operands whose bits the instruction moves into the
/// result, while the others only choose which. From the unwritten bits of the
/// former the handler computes those of the result.
static size_t movedBy(const Instruction &it) {
  static const std::unordered_map<std::string_view, size_t> moved = {
      {"shl", 1},  {"shr", 1}, {"bfe", 1}, {"prmt", 2},
      {"selp", 2}, {"bfi", 2}, {"shf", 2}};
  auto isInteger = [](const std::string &type) {
    return type.find_first_not_of("usb123468") == type.npos;
  };
  if (it.words[0] == "cvt")
    return isInteger(it.words.back()) && isInteger(it.words.end()[-2]);
  auto found = moved.find(it.words[0]);
  return found == moved.end() ? 0 : found->second;
}

/// All bits of a number, or of a part of a pair, if one bit is unwritten in an
/// operand; `any` are the bits of all operands.
static uint64_t widened(const Instruction &it, const uint64_t *operands,
                        uint64_t any) {
  constexpr uint64_t low = 0xffff, high = ~low;
  const std::string &type = it.words.back();
  bool converts = it.words[0] == "cvt";
  if (!converts && type.ends_with("x2"))
    return (any & low ? low : 0) | (any & high ? high : 0);
  if (converts && type == "f32" && it.words.end()[-2].ends_with("f16x2"))
    return (operands[0] ? high : 0) | (operands[1] ? low : 0);
  return any ? ~uint64_t(0) : 0;
}

void carry(const Instruction &it, const Lanes &given, const Lanes &bits) {
  size_t moved = movedBy(it);
  const std::string &opcode = it.words[0], &type = it.words.back();
  bool isAnd = opcode == "and", isOr = opcode == "or";
  bool isOfBits = isAnd || isOr || opcode == "xor" || opcode == "not";
  uint64_t kept = opcode == "setp" || type == "pred" ? 1 : ~uint64_t(0);
  Row moves = {};
  if (moved) {
    Lanes mixed = given;
    mixed.out = moves.data();
    std::copy_n(bits.in.begin(), moved, mixed.in.begin());
    it.handler(mixed);
  }
  for (size_t lane = 0; lane < warpSize; ++lane) {
    if (!(bits.mask >> lane & 1))
      continue;
    uint64_t operands[4] = {}, any = 0;
    for (size_t i = moved; i < 4; ++i)
      if (bits.in[i])
        any |= operands[i] = bits.in[i][lane];
    // A written 0 decides an `and`, a written 1 an `or`.
    for (size_t i = 0; i < 2 && (isAnd || isOr); ++i)
      any &= operands[i] | (isAnd ? given.in[i][lane] : ~given.in[i][lane]);
    bits.out[lane] =
        moves[lane] | (kept & (isOfBits ? any : widened(it, operands, any)));
  }
}

} // namespace emulator::ptx
