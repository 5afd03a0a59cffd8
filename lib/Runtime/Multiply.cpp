//===- Multiply.cpp - sums of products by tiles ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the outside in: blocks of the sum, blocks of columns whose part of B is
// packed, tiles of rows, and panels of one or two vectors of columns. A tile's
// part of A stays in the first cache while the panels stream from the second.
//
//===----------------------------------------------------------------------===//

#include "Multiply.h"

#include "Tiles.h"

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

/// Terms of the sum between two updates of C, at most: a tile's part of A must
/// fit into a first cache of 32 KiB.
constexpr int64_t maxTerms = 512;
/// Bytes of B packed at a time: half of a second cache of a megabyte.
constexpr int64_t packedBytes = 512 * 1024;
/// B is read where it lies for fewer rows than this: copying would not pay.
constexpr int64_t rowsWorthPacking = 160;
/// Columns from which a copy of a tile's part of A pays.
constexpr int64_t columnsWorthCopying = 128;
/// Rows of the largest tile and columns of the widest, of any processor.
constexpr int64_t mostRows = 14, mostColumns = 32;
/// Elements between copied rows of A beyond their terms, so that no two rows
/// meet in one set of the cache.
constexpr int64_t gap = 16;

/// The part of a product between two updates of C.
template <typename T> struct Part {
  const Product &p;
  const Tiles<T> &tiles;
  int64_t sum[3];
  bool add;
  bool packed; ///< B is, panel after panel
};

/// Columns of the panel that starts `left` columns before the end.
template <typename T> int64_t widthOf(const Tiles<T> &tiles, int64_t left) {
  return left > tiles.lanes ? 2 * tiles.lanes : tiles.lanes;
}

/// Packs `columns` columns of B: panel after panel, each term a row.
template <typename T>
void pack(const Part<T> &part, const T *b, int64_t columns, T *to) {
  const Product &p = part.p;
  const int64_t terms = part.sum[2];
  for (int64_t j = 0; j < columns;) {
    int64_t width = widthOf(part.tiles, columns - j);
    int used = int(std::min(width, columns - j));
    for (int64_t s0 = 0; s0 < part.sum[0]; ++s0)
      for (int64_t s1 = 0; s1 < part.sum[1]; ++s1, to += terms * width) {
        const T *from = b + s0 * p.bSum[0] + s1 * p.bSum[1] + j * p.bColumn;
        if (p.bColumn == 1)
          part.tiles.packRows(to, from, p.bSum[2], terms, used, int(width));
        else if (p.bSum[2] == 1)
          part.tiles.packColumns(to, from, p.bColumn, terms, used, int(width));
        else
          for (int64_t k = 0; k < terms; ++k)
            for (int64_t i = 0; i < width; ++i)
              to[k * width + i] =
                  i < used ? from[k * p.bSum[2] + i * p.bColumn] : T(0);
      }
    j += width;
  }
}

/// Runs a tile whose C has columns that are not side by side, or fewer than the
/// tile, by way of a tile on the stack.
template <typename T>
void multiplyAside(const Part<T> &part, Tile<T> tile, int vectors, int rows,
                   T *c, int64_t columns) {
  const Product &p = part.p;
  const int64_t width = vectors * part.tiles.lanes;
  T sums[mostRows * mostColumns];
  tile.c = sums, tile.cRow = width, tile.add = false;
  part.tiles.tile[vectors - 1][rows - 1](tile);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      T &to = c[i * p.cRow[2] + j * p.cColumn];
      to = part.add ? to + sums[i * width + j] : sums[i * width + j];
    }
}

/// All panels of one tile of `rows` rows.
template <typename T>
void multiplyPanels(const Part<T> &part, Tile<T> tile, int rows,
                    int64_t columns, T *c) {
  const Product &p = part.p;
  for (int64_t j = 0; j < columns;) {
    int64_t width = widthOf(part.tiles, columns - j);
    int64_t used = std::min(width, columns - j);
    int vectors = int(width / part.tiles.lanes);
    if (part.packed) {
      tile.bTerm = width;
      tile.bInner = tile.terms * width;
      tile.bOuter = tile.inner * tile.bInner;
    }
    T *to = c + j * p.cColumn;
    if (used == width && p.cColumn == 1) {
      tile.c = to;
      part.tiles.tile[vectors - 1][rows - 1](tile);
    } else {
      multiplyAside(part, tile, vectors, rows, to, used);
    }
    tile.b += part.packed ? part.sum[0] * tile.bOuter : width;
    j += width;
  }
}

/// Copies a tile's part of A if its rows or terms would evict one another from
/// a cache whose sets repeat every 4096 bytes.
template <typename T>
void copyTile(const Part<T> &part, Tile<T> &tile, int rows, T *copy) {
  auto collides = [](int64_t distance) {
    return distance * int64_t(sizeof(T)) % 1024 == 0;
  };
  if (tile.aRow == 1 && collides(tile.aTerm)) {
    part.tiles.packRows(copy, tile.a, tile.aTerm, tile.terms, rows, rows);
    tile.aTerm = rows;
    tile.a = copy;
  } else if (tile.aTerm == 1 && collides(tile.aRow)) {
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(tile.a + row * tile.aRow, tile.terms,
                  copy + row * (tile.terms + gap));
    tile.aRow = tile.terms + gap;
    tile.a = copy;
  }
}

/// All rows, for columns of which B lies at `b`.
template <typename T>
void multiplyRows(const Part<T> &part, const T *a, const T *b, int64_t columns,
                  T *c) {
  const Product &p = part.p;
  alignas(64) T copy[mostRows * (maxTerms + gap)];
  const bool copies =
      part.sum[0] * part.sum[1] == 1 && columns >= columnsWorthCopying;
  const int64_t most = part.tiles.rows;
  for (int64_t r0 = 0; r0 < p.rows[0]; ++r0)
    for (int64_t r1 = 0; r1 < p.rows[1]; ++r1) {
      // Tiles as equal as can be: one of a row or two wastes most of its loads.
      int64_t left = (p.rows[2] + most - 1) / most;
      for (int64_t r2 = 0; left > 0; --left) {
        int rows = int((p.rows[2] - r2 + left - 1) / left);
        Tile<T> tile = {.a = a + r0 * p.aRow[0] + r1 * p.aRow[1] +
                             r2 * p.aRow[2],
                        .b = b,
                        .c = nullptr,
                        .aRow = p.aRow[2],
                        .cRow = p.cRow[2],
                        .terms = part.sum[2],
                        .aTerm = p.aSum[2],
                        .bTerm = p.bSum[2],
                        .inner = part.sum[1],
                        .aInner = p.aSum[1],
                        .bInner = p.bSum[1],
                        .outer = part.sum[0],
                        .aOuter = p.aSum[0],
                        .bOuter = p.bSum[0],
                        .add = part.add};
        if (copies)
          copyTile(part, tile, rows, copy);
        multiplyPanels(part, tile, rows, columns,
                       c + r0 * p.cRow[0] + r1 * p.cRow[1] + r2 * p.cRow[2]);
        r2 += rows;
      }
    }
}

template <typename T>
void multiplyPart(Part<T> part, const T *a, const T *b, T *c) {
  const Product &p = part.p;
  part.packed = p.bColumn != 1 || p.columns % part.tiles.lanes != 0 ||
                p.rows[0] * p.rows[1] * p.rows[2] >= rowsWorthPacking;
  if (!part.packed)
    return multiplyRows(part, a, b, p.columns, c);
  alignas(64) T packed[packedBytes / sizeof(T)];
  int64_t terms = std::max<int64_t>(part.sum[0] * part.sum[1] * part.sum[2], 1);
  int64_t panel = 2 * part.tiles.lanes;
  int64_t most = packedBytes / int64_t(sizeof(T)) / terms / panel * panel;
  for (int64_t j = 0; j < p.columns; j += most) {
    int64_t columns = std::min(most, p.columns - j);
    pack(part, b + j * p.bColumn, columns, packed);
    multiplyRows(part, a, static_cast<const T *>(packed), columns,
                 c + j * p.cColumn);
  }
}

/// The length of parts of `extent` of at most `most`, as equal as can be.
int64_t partOf(int64_t extent, int64_t most) {
  int64_t parts = (extent + most - 1) / most;
  return parts < 2 ? std::max<int64_t>(extent, 1)
                   : (extent + parts - 1) / parts;
}

} // namespace

template <typename T>
void multiplyBy(const Tiles<T> &tiles, const Product &p, const T *a, const T *b,
                T *c) {
  if (p.sum[0] == 0 || p.sum[1] == 0 || p.sum[2] == 0)
    return multiplyPart<T>({p, tiles, {0, 0, 0}, p.add, false}, a, b, c);
  // The inner loops first, for they are cheap to run through.
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
