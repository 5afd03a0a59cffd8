//===- Multiply.cpp - contractions and convolutions by tiles --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops, outermost first: blocks of the sum; blocks of columns, for which B
// is packed; the loops of MultiplyBlock.h inside such a block.
//
//===----------------------------------------------------------------------===//

#include "Products/Multiply.h"

#include "Products/MultiplyBlock.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace stagewright::runtime {

namespace {

enum class Kind { portable, avx2, avx512 };

Kind findKind() {
#if defined(__x86_64__)
  const char *chosen = std::getenv("STAGEWRIGHT_TILES");
  std::string_view name = chosen ? chosen : "";
  if (name == "portable")
    return Kind::portable;
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw");
  if (avx512 && name != "avx2")
    return Kind::avx512;
  if (avx2)
    return Kind::avx2;
#endif
  return Kind::portable;
}

Kind kind() {
  static const Kind found = findKind();
  return found;
}

template <typename T> const Tiles<T> &tilesOf();
#if defined(__x86_64__)
template <> const Tiles<float> &tilesOf() {
  static const Tiles<float> *const tiles[] = {&portableTilesF32, &avx2TilesF32,
                                              &avx512TilesF32};
  return *tiles[int(kind())];
}
template <> const Tiles<double> &tilesOf() {
  static const Tiles<double> *const tiles[] = {&portableTilesF64, &avx2TilesF64,
                                               &avx512TilesF64};
  return *tiles[int(kind())];
}
#else
template <> const Tiles<float> &tilesOf() { return portableTilesF32; }
template <> const Tiles<double> &tilesOf() { return portableTilesF64; }
#endif

/// Bytes of B packed at a time: half of an L2 cache of 1 MiB.
constexpr int64_t packedBytes = 512 * 1024;
/// With fewer rows, whole contiguous vectors of B are read in place: packing
/// would not pay off.
constexpr int64_t rowsWorthPacking = 160;

template <typename T>
void multiplyPart(Part<T> part, const T *a, const T *b, T *c) {
  const Product &p = part.p;
  part.packed = p.bColumn != 1 || p.columns % part.tiles.lanes != 0 ||
                p.rows[0] * p.rows[1] * p.rows[2] >= rowsWorthPacking;
  if (!part.packed)
    return Block<T>(part, a, b, nullptr, p.columns, c).run();
  alignas(64) T packed[packedBytes / sizeof(T)];
  int64_t terms = std::max<int64_t>(part.sum[0] * part.sum[1] * part.sum[2], 1);
  int64_t panel = 2 * part.tiles.lanes;
  int64_t maxColumns = packedBytes / int64_t(sizeof(T)) / terms / panel * panel;
  for (int64_t j = 0; j < p.columns; j += maxColumns)
    Block<T>(part, a, b + j * p.bColumn, packed,
             std::min(maxColumns, p.columns - j), c + j * p.cColumn)
        .run();
}

/// The length of parts if `extent` is split evenly into parts of at most
/// `maxPart`.
int64_t partOf(int64_t extent, int64_t maxPart) {
  int64_t parts = (extent + maxPart - 1) / maxPart;
  return parts < 2 ? std::max<int64_t>(extent, 1)
                   : (extent + parts - 1) / parts;
}

} // namespace

template <typename T>
void multiplyBy(const Tiles<T> &tiles, const Product &p, const T *a, const T *b,
                T *c) {
  if (p.sum[0] == 0 || p.sum[1] == 0 || p.sum[2] == 0)
    return multiplyPart<T>({p, tiles, {0, 0, 0}, p.add, false}, a, b, c);
  // Inner loops get as many terms as possible: they have the least overhead.
  int64_t part[3], room = maxTerms;
  for (int i = 2; i >= 0; --i) {
    part[i] = partOf(p.sum[i], room);
    room = std::max<int64_t>(room / part[i], 1);
  }
  bool add = p.add;
  for (int64_t s0 = 0; s0 < p.sum[0]; s0 += part[0])
    for (int64_t s1 = 0; s1 < p.sum[1]; s1 += part[1])
      for (int64_t s2 = 0; s2 < p.sum[2]; s2 += part[2]) {
        multiplyPart<T>({p,
                         tiles,
                         {std::min(part[0], p.sum[0] - s0),
                          std::min(part[1], p.sum[1] - s1),
                          std::min(part[2], p.sum[2] - s2)},
                         add,
                         false},
                        a + s0 * p.aSum[0] + s1 * p.aSum[1] + s2 * p.aSum[2],
                        b + s0 * p.bSum[0] + s1 * p.bSum[1] + s2 * p.bSum[2],
                        c);
        add = true;
      }
}

template void multiplyBy(const Tiles<float> &, const Product &, const float *,
                         const float *, float *);
template void multiplyBy(const Tiles<double> &, const Product &, const double *,
                         const double *, double *);

void multiply(const Product &product, const float *a, const float *b,
              float *c) {
  multiplyBy(tilesOf<float>(), product, a, b, c);
}

void multiply(const Product &product, const double *a, const double *b,
              double *c) {
  multiplyBy(tilesOf<double>(), product, a, b, c);
}

const char *tilesName() {
  switch (kind()) {
  case Kind::avx512:
    return "AVX-512";
  case Kind::avx2:
    return "AVX2";
  case Kind::portable:
    return "any processor";
  }
  return "";
}

bool hasFastTiles() { return kind() != Kind::portable; }

} // namespace stagewright::runtime
