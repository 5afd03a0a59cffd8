//===- Integers.cpp - PTX on integers, bits and predicates ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

namespace emulator::ptx {

namespace {

template <typename N>
using Wide =
    std::conditional_t<std::is_signed_v<N>, __int128, unsigned __int128>;

/// The low bits of a product with twice the width of N.
template <typename N> uint64_t doubled(Wide<N> value) {
  return uint64_t(value) &
         ~uint64_t(0) >> (sizeof(N) < 8 ? 64 - 16 * sizeof(N) : 0);
}

/// bfe: `length` bits from `start`, extended with zeros or with the sign.
template <typename N> N extracted(N value, uint8_t start, uint8_t length) {
  Wide<N> field = Wide<N>(value) >> std::min<int>(start, 127);
  int unused = 128 - std::min<int>(length, 127);
  return length ? N(field << unused >> unused) : N(0);
}

/// bfi: the low bits of `value` in their place in `into`.
template <typename T>
T inserted(T value, T into, uint8_t start, uint8_t length) {
  unsigned __int128 ones = 1, by = std::min<unsigned>(start, 64);
  auto mask = T(((ones << std::min<int>(length, 64)) - 1) << by);
  return T((into & ~mask) | (T((ones * value) << by) & mask));
}

/// prmt: each nibble of c selects a byte of {b, a}; with its top bit set, the
/// result byte repeats that byte's sign.
uint64_t permuted(uint32_t a, uint64_t b, uint32_t c) {
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

/// Defines the operations on T and on the signed type of its size. Unsigned
/// overflow is defined in C++, so T also serves for signed sums.
template <typename T> void defineFor(Table &table) {
  using S = std::make_signed_t<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  // For the types with these letters: u and b of u32 and b32.
  auto add = [&](const char *name, std::string_view letters, auto function) {
    for (char letter : letters)
      table[name + ("." + (letter + std::to_string(width)))] =
          handler<T>(function);
  };
  add("add", "usb", [](T a, T b) { return T(a + b); });
  add("sub", "usb", [](T a, T b) { return T(a - b); });
  add("mul.lo", "usb", [](T a, T b) { return T(uint64_t(a) * b); });
  add("mad.lo", "usb", [](T a, T b, T c) { return T(uint64_t(a) * b + c); });
  add("neg", "usb", [](T a) { return T(-a); });
  add("and", "usb", [](T a, T b) { return T(a & b); });
  add("or", "usb", [](T a, T b) { return T(a | b); });
  add("xor", "usb", [](T a, T b) { return T(a ^ b); });
  add("not", "usb", [](T a) { return T(~a); });
  // Division by zero is undefined in PTX; a device returns all ones.
  add("div", "ub", [](T a, T b) { return b ? T(a / b) : T(~T(0)); });
  add("rem", "ub", [](T a, T b) { return b ? T(a % b) : a; });
  add("div", "s", [](S a, S b) {
    return b == 0 ? S(-1) : b == -1 ? S(-T(a)) : S(a / b);
  });
  add("rem", "s", [](S a, S b) {
    return b == 0 ? a : b == -1 ? S(0) : S(a % b);
  });
  add("abs", "s", [](S a) { return a < 0 ? S(-T(a)) : a; });
  add("min", "ub", [](T a, T b) { return std::min(a, b); });
  add("min", "s", [](S a, S b) { return std::min(a, b); });
  add("max", "ub", [](T a, T b) { return std::max(a, b); });
  add("max", "s", [](S a, S b) { return std::max(a, b); });
  // Counts above the width act as the width.
  add("shl", "ub",
      [](T a, uint32_t b) { return b < width ? T(a << b) : T(0); });
  add("shr", "ub",
      [](T a, uint32_t b) { return b < width ? T(a >> b) : T(0); });
  add("shr", "s",
      [](S a, uint32_t b) { return S(a >> std::min(b, width - 1)); });
  auto multiply = [&]<typename N>(N, const char *letters) {
    using W = Wide<N>;
    add("mul.hi", letters, [](N a, N b) { return N(W(a) * W(b) >> width); });
    add("mul.wide", letters, [](N a, N b) { return doubled<N>(W(a) * W(b)); });
    add("mad.wide", letters,
        [](N a, N b, uint64_t c) { return doubled<N>(W(a) * W(b) + W(c)); });
  };
  multiply(T(), "ub");
  multiply(S(), "s");
  if constexpr (width > 16) {
    add("bfe", "u",
        [](T a, uint8_t b, uint8_t c) { return extracted(a, b, c); });
    add("bfe", "s",
        [](S a, uint8_t b, uint8_t c) { return extracted(a, b, c); });
    add("bfi", "b",
        [](T a, T b, uint8_t c, uint8_t d) { return inserted(a, b, c, d); });
  }
}

} // namespace

void defineIntegers(Table &table) {
  defineFor<uint16_t>(table);
  defineFor<uint32_t>(table);
  defineFor<uint64_t>(table);
  define<bool>(table, "and", [](bool a, bool b) { return a && b; });
  define<bool>(table, "or", [](bool a, bool b) { return a || b; });
  define<bool>(table, "xor", [](bool a, bool b) { return a != b; });
  define<bool>(table, "not", [](bool a) { return !a; });
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
  // Only generic addresses of shared and local memory differ from their own.
  for (const char *space : {"to.global", "to.shared", "to.local", "global"})
    define<uint64_t>(table, std::string("cvta.") + space,
                     [](uint64_t a) { return a; });
  define<uint64_t>(table, "cvta.shared",
                   [](uint64_t a) { return a | sharedWindow; });
  define<uint64_t>(table, "cvta.local",
                   [](uint64_t a) { return a | localWindow; });
}

} // namespace emulator::ptx
