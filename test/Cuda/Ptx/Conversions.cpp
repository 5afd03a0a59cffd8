//===- Conversions.cpp - cvt, setp and selp of PTX ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include <limits>

namespace emulator::ptx {

namespace {

template <typename T> constexpr bool isInteger = std::is_integral_v<T>;

/// A float is first rounded to an integer by `round`, or not at all. Floats
/// outside the range of an integer saturate; NaN becomes 0.
template <typename D, typename S, auto round> D converted(S value) {
  // A 16-bit float is made from float32: exact up to 2048 (f16) or 256 (bf16).
  using Through = std::conditional_t<isInteger<D> || sizeof(D) != 2, D, float>;
  if constexpr (isInteger<S>) {
    return D(Through(value));
  } else {
    double number = round(double(value));
    if constexpr (isInteger<D>) {
      using Limits = std::numeric_limits<D>;
      return std::isnan(number)                          ? D(0)
             : number < double(Limits::min())            ? Limits::min()
             : number >= std::ldexp(1.0, Limits::digits) ? Limits::max()
                                                         : D(number);
    }
    return D(Through(number));
  }
}

template <typename D, typename S> void add(Table &table) {
  auto with = [&]<typename Round>(const std::string &mode, Round) {
    for (const std::string &to : namesOf<D>())
      define<S>(table, "cvt." + mode + to,
                [](S a) { return put(converted<D, S, Round{}>(a)); });
  };
  constexpr bool isRounded = !isInteger<S>;
  if constexpr (!(isInteger<D> && isRounded))
    for (const char *mode : {"", "rn."})
      with(mode, [](double it) { return it; });
  if constexpr (isRounded) {
    with("rni.", [](double it) { return std::nearbyint(it); });
    with("rzi.", [](double it) { return std::trunc(it); });
    with("rmi.", [](double it) { return std::floor(it); });
    with("rpi.", [](double it) { return std::ceil(it); });
  }
}

/// Packs two numbers into one register, the first into the upper half.
template <typename T> uint64_t packed(float a, float b) {
  return put(T(a)) << (8 * sizeof(T)) | put(T(b));
}

/// Defines conversions to pairs of floats, and of pairs of 8-bit floats.
template <typename T> void addPair(Table &table, const std::string &name) {
  table["cvt.rn." + name + ".f32"] =
      handler<uint64_t>([](float a, float b) { return packed<T>(a, b); });
}
template <typename T> void addNarrow(Table &table, const std::string &name) {
  addPair<T>(table, "satfinite." + name);
  table["cvt.rn.satfinite." + name + ".f16x2"] = handler<uint64_t>(
      [](Pair<Half> a) { return packed<T>(float(a.high), float(a.low)); });
  table["cvt.rn.f16x2." + name] = handler<uint64_t>(
      [](Pair<T> a) { return packed<Half>(float(a.high), float(a.low)); });
}

/// `setp.lt.T p, a, b`. Each comparison stands at the sum of the orders for
/// which it is true: 1 is less, 2 equal, 4 greater, 8 unordered (with a NaN).
constexpr const char *comparisons[] = {"",    "lt",  "eq",  "le",  "gt",
                                       "ne",  "ge",  "num", "nan", "ltu",
                                       "equ", "leu", "gtu", "neu", "geu"};

template <typename T, size_t... sum>
void compare(Table &table, std::index_sequence<sum...>) {
  (define<T>(table, std::string("setp.") + comparisons[sum],
             [](T a, T b) {
               size_t order = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
               return (sum & order) != 0;
             }),
   ...);
}

/// PTX compares and selects no bytes.
template <typename T> void addChoices(Table &table) {
  if constexpr (sizeof(T) > 1)
    compare<T>(table, std::make_index_sequence<isInteger<T> ? 7 : 15>());
  if constexpr (isInteger<T> ? sizeof(T) > 1 : sizeof(T) > 2)
    define<T>(table, "selp",
              [](uint64_t a, uint64_t b, bool c) { return c ? a : b; });
}

template <typename... Types> void defineFor(Table &table) {
  (addChoices<Types>(table), ...);
  auto addTo = [&]<typename D>(D) { (add<D, Types>(table), ...); };
  (addTo(Types()), ...);
}

} // namespace

Handler handlerOf(const std::vector<std::string> &words) {
  static const auto table = [] {
    Table it;
    defineIntegers(it);
    defineFloats(it);
    defineConversions(it);
    return it;
  }();
  // Only rounding to nearest is supported. ftz is ignored: it affects only
  // numbers below 2^-126.
  constexpr std::string_view ignored[] = {"ftz", "rn", "approx", "full"};
  std::span some(ignored, words[0] == "cvt" ? 1 : std::size(ignored));
  std::string name = words[0];
  for (const std::string &word : std::span(words).subspan(1))
    if (std::ranges::find(some, word) == some.end())
      name += "." + word;
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

void defineConversions(Table &table) {
  defineFor<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t,
            int64_t, float, double, Bfloat16, Half>(table);
  addPair<Bfloat16>(table, "bf16x2");
  addPair<Half>(table, "f16x2");
  addNarrow<E4M3>(table, "e4m3x2");
  addNarrow<E5M2>(table, "e5m2x2");
}

} // namespace emulator::ptx
