//===- Integers.cpp - PTX on integers, bits and predicates ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

namespace emulator::ptx {

template <typename N>
using Wide =
    std::conditional_t<std::is_signed_v<N>, __int128, unsigned __int128>;

/// The low bits of a product with twice the width of N.
template <typename N> static uint64_t doubled(Wide<N> value) {
  return uint64_t(value) &
         ~uint64_t(0) >> (sizeof(N) < 8 ? 64 - 16 * sizeof(N) : 0);
}

/// bfe: `length` bits from `start`, extended with zeros or with the sign.
template <typename N>
static N extracted(N value, uint8_t start, uint8_t length) {
  Wide<N> field = Wide<N>(value) >> std::min<int>(start, 127);
  int unused = 128 - std::min<int>(length, 127);
  return length ? N(field << unused >> unused) : N(0);
}

/// bfi: the low bits of `value` in their place in `into`.
template <typename T>
static T inserted(T value, T into, uint8_t start, uint8_t length) {
  unsigned __int128 ones = 1, by = std::min<unsigned>(start, 64);
  auto mask = T(((ones << std::min<int>(length, 64)) - 1) << by);
  return T((into & ~mask) | (T((ones * value) << by) & mask));
}

/// prmt: each nibble of c selects a byte of {b, a}; with its top bit set, the
/// result byte repeats that byte's sign.
static uint64_t permuted(uint32_t a, uint64_t b, uint32_t c) {
  uint64_t source = a | b << 32, result = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t choice = c >> (4 * i) & 0xf;
    uint64_t byte = source >> (8 * (choice & 7)) & 0xff;
    if (choice & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

/// Defines operations on bits, also on those of predicates.
template <typename T> static void defineLogic(Table &table) {
  define<T>(table, "and", [](T a, T b) { return T(a & b); });
  define<T>(table, "or", [](T a, T b) { return T(a | b); });
  define<T>(table, "xor", [](T a, T b) { return T(a ^ b); });
  define<T>(table, "not", [](T a) { return T(a ^ T(-1)); });
}

/// Defines the operations on integers, most of them with twice the width, where
/// nothing overflows.
template <typename N> static void defineFor(Table &table) {
  using W = Wide<N>;
  constexpr uint32_t width = 8 * sizeof(N);
  auto add = [&](const char *name, auto function) {
    define<N>(table, name, function);
  };
  add("add", [](N a, N b) { return N(W(a) + b); });
  add("sub", [](N a, N b) { return N(W(a) - b); });
  add("mul.lo", [](N a, N b) { return N(W(a) * b); });
  add("mul.hi", [](N a, N b) { return N(W(a) * b >> width); });
  add("mul.wide", [](N a, N b) { return doubled<N>(W(a) * b); });
  add("mad.lo", [](N a, N b, N c) { return N(W(a) * b + c); });
  add("mad.wide",
      [](N a, N b, uint64_t c) { return doubled<N>(W(a) * b + W(c)); });
  add("neg", [](N a) { return N(-W(a)); });
  add("min", [](N a, N b) { return std::min(a, b); });
  add("max", [](N a, N b) { return std::max(a, b); });
  // Division by zero is undefined in PTX; a device returns all ones.
  add("div", [](N a, N b) { return b ? N(W(a) / b) : N(-1); });
  add("rem", [](N a, N b) { return b ? N(W(a) % b) : a; });
  // Counts above the width act as the width.
  add("shr", [](N a, uint32_t b) { return N(W(a) >> std::min(b, 64u)); });
  if constexpr (width > 16)
    add("bfe", [](N a, uint8_t b, uint8_t c) { return extracted(a, b, c); });
  if constexpr (std::is_signed_v<N>) {
    add("abs", [](N a) { return N(a < 0 ? -W(a) : W(a)); });
    return;
  }
  defineLogic<N>(table);
  add("shl", [](N a, uint32_t b) { return N(W(a) << std::min(b, 64u)); });
  if constexpr (width > 16)
    add("bfi",
        [](N a, N b, uint8_t c, uint8_t d) { return inserted(a, b, c, d); });
}

void defineIntegers(Table &table) {
  defineFor<uint16_t>(table);
  defineFor<int16_t>(table);
  defineFor<uint32_t>(table);
  defineFor<int32_t>(table);
  defineFor<uint64_t>(table);
  defineFor<int64_t>(table);
  defineLogic<bool>(table);
  table["prmt.b32"] = handler<uint64_t>(
      [](uint32_t a, uint64_t b, uint32_t c) { return permuted(a, b, c); });
  using Word = uint32_t;
  using Long = uint64_t;
  auto shift = [&]<typename Count>(const std::string &mode, Count) {
    table["shf.l." + mode] = handler<Word>([](Word a, Long b, Word c) {
      return Word((a | b << 32) << Count()(c) >> 32);
    });
    table["shf.r." + mode] = handler<Word>([](Word a, Long b, Word c) {
      return Word((a | b << 32) >> Count()(c));
    });
  };
  shift("wrap.b32", [](Word count) { return count & 31; });
  shift("clamp.b32", [](Word count) { return std::min(count, 32u); });
  // The carry of mad.lo.cc, and the product to which it is added.
  table["mad.carry.u32"] = handler<Long>(
      [](Word a, Word b, Word c) { return (Long(Word(a * b)) + c) >> 32; });
  table["madc.hi.u32"] = handler<Word>([](Word a, Word b, Word c, Word carry) {
    return Word(Long(a) * b >> 32) + c + carry;
  });
  define<Word>(table, "popc", [](Word a) { return Word(std::popcount(a)); });
  define<Word>(table, "clz", [](Word a) { return Word(std::countl_zero(a)); });
  // Only for shared and local memory does a generic address differ from the
  // address within the space.
  for (const char *space : {"to.global", "to.shared", "to.local", "global"})
    define<uint64_t>(table, std::string("cvta.") + space,
                     [](uint64_t a) { return a; });
  define<uint64_t>(table, "cvta.shared",
                   [](uint64_t a) { return a | sharedWindow; });
  define<uint64_t>(table, "cvta.local",
                   [](uint64_t a) { return a | localWindow; });
}

} // namespace emulator::ptx
