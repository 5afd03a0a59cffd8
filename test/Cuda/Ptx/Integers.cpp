//===- Integers.cpp - PTX on integers, bits and predicates ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "Window.h"

#include <algorithm>
#include <limits>

namespace emulator::ptx {

namespace {

/// Operations on unsigned T, some of which also serve signed types: unsigned
/// overflow is defined in C++.
template <typename T> struct Wrapping {
  using Signed = std::make_signed_t<T>;

  template <typename Function>
  static void add(Table &table, const std::string &name, Function function) {
    define<T>(table, name, function);
    for (const char *type : Word<T>::names)
      for (const char *same : Word<Signed>::names)
        table.emplace(name + "." + same, table.at(name + "." + type));
  }

  static void defineAll(Table &table) {
    add(table, "add", [](T a, T b) { return T(a + b); });
    add(table, "sub", [](T a, T b) { return T(a - b); });
    add(table, "mul.lo", [](T a, T b) { return T(uint64_t(a) * b); });
    add(table, "mad.lo", [](T a, T b, T c) { return T(uint64_t(a) * b + c); });
    add(table, "neg", [](T a) { return T(-a); });
    add(table, "and", [](T a, T b) { return T(a & b); });
    add(table, "or", [](T a, T b) { return T(a | b); });
    add(table, "xor", [](T a, T b) { return T(a ^ b); });
    add(table, "not", [](T a) { return T(~a); });
    // Division by zero is undefined in PTX; a device returns all ones.
    define<T>(table, "div", [](T a, T b) { return b ? T(a / b) : T(~T(0)); });
    define<T>(table, "rem", [](T a, T b) { return b ? T(a % b) : a; });
    define<Signed>(table, "div", [](Signed a, Signed b) {
      return b == 0 ? Signed(-1) : b == -1 ? Signed(-T(a)) : Signed(a / b);
    });
    define<Signed>(table, "rem", [](Signed a, Signed b) {
      return b == 0 ? a : b == -1 ? Signed(0) : Signed(a % b);
    });
    define<Signed>(table, "abs",
                   [](Signed a) { return a < 0 ? Signed(-T(a)) : a; });
    define<T, Signed>(table, "min",
                      [](auto a, decltype(a) b) { return std::min(a, b); });
    define<T, Signed>(table, "max",
                      [](auto a, decltype(a) b) { return std::max(a, b); });
    high<T>(table);
    high<Signed>(table);
    shifts(table);
  }

  /// The upper half of a product, and products with twice the width.
  template <typename N> static void high(Table &table) {
    using Wide =
        std::conditional_t<std::is_signed_v<N>, __int128, unsigned __int128>;
    define<N>(table, "mul.hi", [](N a, N b) {
      return N((Wide(a) * Wide(b)) >> (8 * sizeof(N)));
    });
    for (const char *type : Word<N>::names) {
      table[std::string("mul.wide.") + type] = [](Lanes &it) {
        forLanes(it, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
          return narrowed<N>(Wide(get<N>(a)) * Wide(get<N>(b)));
        });
      };
      table[std::string("mad.wide.") + type] = [](Lanes &it) {
        forLanes(it, [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
          return narrowed<N>(Wide(get<N>(a)) * Wide(get<N>(b)) + Wide(c));
        });
      };
    }
  }

  /// The low bits of `value`, twice as many as N has, as stored in a register.
  template <typename N, typename Wide> static uint64_t narrowed(Wide value) {
    constexpr int bits = std::min<int>(16 * sizeof(N), 64);
    return uint64_t(value) & (~uint64_t(0) >> (64 - bits));
  }

  /// The shift count has 32 bits; counts above the width act as the width.
  static void shifts(Table &table) {
    constexpr uint32_t width = 8 * sizeof(T);
    auto define = [&]<typename N, typename Function>(const char *name, N,
                                                     Function) {
      for (const char *type : Word<N>::names)
        table[std::string(name) + type] = [](Lanes &it) {
          forLanes(it, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
            return put<N>(N(Function()(get<N>(a), uint32_t(b))));
          });
        };
    };
    define("shl.", T(), [](T a, uint32_t b) { return b < width ? a << b : 0; });
    define("shr.", T(), [](T a, uint32_t b) { return b < width ? a >> b : 0; });
    define("shr.", Signed(),
           [](Signed a, uint32_t b) { return a >> std::min(b, width - 1); });
  }
};

/// bfe: `length` bits from `start`, extended with zeros or with the sign.
template <typename T> uint64_t extracted(uint64_t a, uint64_t b, uint64_t c) {
  constexpr int width = 8 * sizeof(T);
  int start = int(b & 0xff), length = int(c & 0xff);
  T value = get<T>(a);
  bool sign = std::is_signed_v<T> && length > 0 &&
              (value >> std::min(start + length - 1, width - 1) & 1);
  uint64_t result = sign ? ~uint64_t(0) : 0;
  for (int i = 0; i < length && i < width; ++i) {
    uint64_t bit =
        start + i < width ? uint64_t(value) >> (start + i) & 1 : sign;
    result = (result & ~(uint64_t(1) << i)) | bit << i;
  }
  return put<T>(T(result));
}

template <typename T>
uint64_t inserted(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  int start = int(c & 0xff), length = int(d & 0xff);
  T result = get<T>(b);
  for (int i = 0; i < length && start + i < int(8 * sizeof(T)); ++i)
    result =
        T((result & ~(T(1) << (start + i))) | T(a >> i & 1) << (start + i));
  return put<T>(result);
}

/// prmt: each nibble of c selects a byte of {b, a}; with its top bit set, the
/// result byte repeats that byte's sign.
uint64_t permuted(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
  uint64_t source = (a & 0xffffffff) | b << 32, result = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t choice = c >> (4 * i) & 0xf;
    uint64_t byte = source >> (8 * (choice & 7)) & 0xff;
    if (choice & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

template <bool left, bool wraps>
uint64_t funnelled(uint64_t a, uint64_t b, uint64_t c, uint64_t) {
  uint32_t by = wraps ? uint32_t(c) & 31 : std::min(uint32_t(c), 32u);
  uint64_t both = (a & 0xffffffff) | b << 32;
  return left ? (both << by) >> 32 : (both >> by) & 0xffffffff;
}

template <auto function> Handler raw() {
  return [](Lanes &it) {
    forLanes(it, [](uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
      if constexpr (std::is_invocable_v<decltype(function), uint64_t, uint64_t,
                                        uint64_t, uint64_t>)
        return uint64_t(function(a, b, c, d));
      else
        return uint64_t(function(a, b, c));
    });
  };
}

} // namespace

void defineIntegers(Table &table) {
  Wrapping<uint16_t>::defineAll(table);
  Wrapping<uint32_t>::defineAll(table);
  Wrapping<uint64_t>::defineAll(table);
  define<bool>(table, "and", [](bool a, bool b) { return a && b; });
  define<bool>(table, "or", [](bool a, bool b) { return a || b; });
  define<bool>(table, "xor", [](bool a, bool b) { return a != b; });
  define<bool>(table, "not", [](bool a) { return !a; });
  table["bfe.u32"] = raw<extracted<uint32_t>>();
  table["bfe.s32"] = raw<extracted<int32_t>>();
  table["bfe.u64"] = raw<extracted<uint64_t>>();
  table["bfe.s64"] = raw<extracted<int64_t>>();
  table["bfi.b32"] = raw<inserted<uint32_t>>();
  table["bfi.b64"] = raw<inserted<uint64_t>>();
  table["prmt.b32"] = raw<permuted>();
  table["shf.l.wrap.b32"] = raw<funnelled<true, true>>();
  table["shf.r.wrap.b32"] = raw<funnelled<false, true>>();
  table["shf.l.clamp.b32"] = raw<funnelled<true, false>>();
  table["shf.r.clamp.b32"] = raw<funnelled<false, false>>();
  define<uint32_t>(table, "popc",
                   [](uint32_t a) { return uint32_t(std::popcount(a)); });
  define<uint32_t>(table, "clz",
                   [](uint32_t a) { return uint32_t(std::countl_zero(a)); });
  // Only generic addresses of shared and local memory differ from their own.
  for (const char *space : {"to.global", "to.shared", "to.local", "global"})
    for (const char *type : {"u64", "b64"})
      table[std::string("cvta.") + space + "." + type] = [](Lanes &it) {
        forLanes(it, [](uint64_t a, auto...) { return a; });
      };
  table["cvta.shared.u64"] = [](Lanes &it) {
    forLanes(it, [](uint64_t a, auto...) { return a | sharedWindow; });
  };
  table["cvta.local.u64"] = [](Lanes &it) {
    forLanes(it, [](uint64_t a, auto...) { return a | localWindow; });
  };
}

} // namespace emulator::ptx
