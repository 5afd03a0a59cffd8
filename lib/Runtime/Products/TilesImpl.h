//===- TilesImpl.h - tiles for vectors of any length ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by one file per instruction set, each compiled with its flags.
// Everything is in an unnamed namespace and no template of the standard library
// is instantiated: else the linker might keep, for all callers, a copy that
// only some processors can run.
//
//===----------------------------------------------------------------------===//

#include "Products/Tiles.h"

// Sums stay in registers only if all loops over them are unrolled.
#if defined(__clang__)
#define SW_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SW_UNROLL _Pragma("GCC unroll 16")
#endif

namespace stagewright::runtime {
namespace {

/// A vector of `bytes` bytes of T, at any address.
template <typename T, int bytes> struct VectorOf {
  using Type
      [[gnu::vector_size(bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

template <typename T, int bytes, int rows, int vectors>
void tile(const Tile<T> &t) {
  using Vector [[gnu::vector_size(bytes)]] = T;
  using Unaligned = typename VectorOf<T, bytes>::Type;
  constexpr int lanes = bytes / sizeof(T);
  // Three rows share a base pointer: there are too few registers for one per
  // row, and an address can be a base plus once or twice a stride.
  constexpr int groups = (rows + 2) / 3;
  Vector sum[rows][vectors] = {};
  const int64_t row = t.aRow, aTerm = t.aTerm, bTerm = t.bTerm;
  const T *ahead = t.ahead;
  const int64_t aheadStep = t.aheadStep, aheadBlock = t.aheadBlock;
  // C is used after the sums; its lines are prefetched meanwhile.
  SW_UNROLL
  for (int i = 0; i < rows; ++i)
    SW_UNROLL
  for (int v = 0; v < vectors; ++v)
    __builtin_prefetch(t.c + i * t.cRow + int64_t(v) * lanes, 1);
  for (int64_t outer = 0; outer < t.outer; ++outer)
    for (int64_t inner = 0; inner < t.inner; ++inner) {
      const T *a[groups];
      SW_UNROLL
      for (int g = 0; g < groups; ++g)
        a[g] = t.a + outer * t.aOuter + inner * t.aInner + 3 * g * row;
      const T *b = t.b + outer * t.bOuter + inner * t.bInner;
      for (int64_t k = 0; k < t.terms; ++k) {
        Vector right[vectors];
        SW_UNROLL
        for (int v = 0; v < vectors; ++v)
          right[v] = *reinterpret_cast<const Unaligned *>(b + v * lanes);
        SW_UNROLL
        for (int i = 0; i < rows; ++i)
          SW_UNROLL
        for (int v = 0; v < vectors; ++v)
          sum[i][v] += a[i / 3][(i % 3) * row] * right[v];
        SW_UNROLL
        for (int g = 0; g < groups; ++g)
          a[g] += aTerm;
        b += bTerm;
        // A mask, because with a branch compilers keep some sums in memory.
        __builtin_prefetch(ahead, 0, 2);
        ahead += aheadStep + (aheadBlock & -int64_t(k % 16 == 15));
      }
    }
  SW_UNROLL
  for (int i = 0; i < rows; ++i)
    SW_UNROLL
  for (int v = 0; v < vectors; ++v) {
    auto *c =
        reinterpret_cast<Unaligned *>(t.c + i * t.cRow + int64_t(v) * lanes);
    *c = t.add ? *c + sum[i][v] : sum[i][v];
  }
}

/// Copies rows of `columns` elements into rows of `width`, as two vectors,
/// which overlap if `columns` is less than two vectors.
template <typename T, int bytes>
void copyRows(T *to, const T *from, int64_t row, int64_t terms, int columns,
              int width) {
  using Unaligned = typename VectorOf<T, bytes>::Type;
  const int second = columns - int(bytes / sizeof(T));
  for (int64_t k = 0; k < terms; ++k, to += width, from += row) {
    Unaligned low = *reinterpret_cast<const Unaligned *>(from);
    Unaligned high = *reinterpret_cast<const Unaligned *>(from + second);
    *reinterpret_cast<Unaligned *>(to) = low;
    *reinterpret_cast<Unaligned *>(to + second) = high;
    for (int j = columns; j < width; ++j)
      to[j] = 0;
  }
}

template <typename T, int bytes>
void packRows(T *to, const T *from, int64_t row, int64_t terms, int columns,
              int width) {
  constexpr int lanes = bytes / sizeof(T);
  if (columns >= lanes && columns <= 2 * lanes)
    return copyRows<T, bytes>(to, from, row, terms, columns, width);
  if (bytes > 16 && columns >= lanes / 2 && columns <= lanes)
    return copyRows<T, bytes / 2>(to, from, row, terms, columns, width);
  for (int64_t k = 0; k < terms; ++k, to += width, from += row)
    for (int j = 0; j < width; ++j)
      to[j] = j < columns ? from[j] : T(0);
}

/// 0 1 2 ... as a list of template arguments.
template <int... i> struct List {};
template <int n, int... i> struct Count : Count<n - 1, n - 1, i...> {};
template <int... i> struct Count<0, i...> {
  using Type = List<i...>;
};

/// Transposes within registers: swaps the off-diagonal blocks of all squares of
/// side 2 * `side`, for sides 1, 2, 4 ...
template <int lanes, int side, typename Vector, int... i>
void exchange(Vector (&v)[lanes], List<i...> list) {
  SW_UNROLL
  for (int r = 0; r < lanes; ++r) {
    if (r & side)
      continue;
    Vector low = v[r], high = v[r + side];
    v[r] = __builtin_shufflevector(low, high,
                                   ((i & side) ? lanes + i - side : i)...);
    v[r + side] = __builtin_shufflevector(
        low, high, ((i & side) ? lanes + i : i + side)...);
  }
  if constexpr (2 * side < lanes)
    exchange<lanes, 2 * side>(v, list);
}

template <typename T, int bytes>
void packColumns(T *to, const T *from, int64_t column, int64_t terms,
                 int columns, int width) {
  using Vector [[gnu::vector_size(bytes)]] = T;
  using Unaligned = typename VectorOf<T, bytes>::Type;
  constexpr int lanes = bytes / sizeof(T);
  int64_t whole = terms - terms % lanes;
  for (int j = 0; j < width; j += lanes) {
    int64_t k = 0;
    if (j + lanes <= columns)
      for (; k < whole; k += lanes) {
        Vector v[lanes];
        SW_UNROLL
        for (int r = 0; r < lanes; ++r)
          v[r] =
              *reinterpret_cast<const Unaligned *>(from + k + (j + r) * column);
        exchange<lanes, 1>(v, typename Count<lanes>::Type());
        SW_UNROLL
        for (int r = 0; r < lanes; ++r)
          *reinterpret_cast<Unaligned *>(to + (k + r) * width + j) = v[r];
      }
    for (; k < terms; ++k)
      for (int r = j; r < j + lanes; ++r)
        to[k * width + r] = r < columns ? from[k + r * column] : T(0);
  }
}

template <typename T, int bytes, int... i>
constexpr Tiles<T> listTiles(List<i...>) {
  return {int(bytes / sizeof(T)),
          sizeof...(i),
          {{tile<T, bytes, i + 1, 1>...}, {tile<T, bytes, i + 1, 2>...}},
          packRows<T, bytes>,
          packColumns<T, bytes>};
}

/// The tiles for vectors of `bytes` bytes, with at most `rows` rows.
template <typename T, int bytes, int rows> constexpr Tiles<T> makeTiles() {
  return listTiles<T, bytes>(typename Count<rows>::Type());
}

} // namespace
} // namespace stagewright::runtime

#undef SW_UNROLL
