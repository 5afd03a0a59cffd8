//===- MultiplyBlock.h - rows of A times one packed block of B --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops, outermost first: tiles of rows; panels of one or two vectors of
// columns. A tile's part of A stays in the L1 cache while the panels stream
// from L2.
//
// If the sum is one loop, tiles prefetch, so that loads seldom wait for L3 or
// memory. While panels of B are packed, the tiles prefetch B one panel ahead.
// On one panel, the first of the current tiles prefetches the rows of A of the
// next tile. Copying these rows instead was slower: 100 GFLOP/s instead of 107
// on the products of a GPT's block.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLYBLOCK_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLYBLOCK_H

#include "Products/Multiply.h"
#include "Products/RowTiles.h"
#include "Products/Tiles.h"

#include <algorithm>

namespace stagewright::runtime {

/// Max terms of the sum between two updates of C. With floats a tile's part of
/// A, at most 28 KiB, then fits into an L1 cache of 32 KiB.
constexpr int64_t maxTerms = 512;

/// The part of a product between two updates of C.
template <typename T> struct Part {
  const Product &p;
  const Tiles<T> &tiles;
  int64_t sum[3];
  bool add;
  bool packed; ///< B is packed, panel by panel
};

/// A part of a product for a block of columns, whose part of B is at `b`. If
/// `packed` is not null, it is first copied there, panel by panel.
template <typename T> class Block {
public:
  Block(const Part<T> &part, const T *a, const T *b, T *packed, int64_t columns,
        T *c)
      : part(part), p(part.p), b(b), packed(packed), columns(columns),
        terms(part.sum[0] * part.sum[1] * part.sum[2]),
        simple(part.sum[0] * part.sum[1] == 1),
        rows(p.rows, p.aRow, p.cRow, part.tiles.rows, a, c) {
    // If the stride of rows or terms of A is a multiple of 1024 bytes, they
    // evict one another from a cache whose sets repeat every 4096 bytes, so a
    // tile's part of A is copied.
    auto collide = [](int64_t distance) {
      return distance * int64_t(sizeof(T)) % 1024 == 0;
    };
    bool worth = simple && columns >= columnsWorthCopying;
    copiesTerms = worth && p.aRow[2] == 1 && collide(p.aSum[2]);
    copiesRows = worth && p.aSum[2] == 1 && collide(p.aRow[2]);
  }

  void run() {
    // A panel has up to two cache lines per term, a tile prefetches one of
    // them: so the first panels are shared by two tiles.
    for (bool first = packed; !rows.done(); first = false) {
      int count = 0;
      for (; count < (first ? together : 1) && !rows.done(); ++count)
        takeTile(count);
      multiplyPanels(count, first);
    }
  }

private:
  /// Min columns for which copying a tile's part of A pays off.
  static constexpr int64_t columnsWorthCopying = 128;
  /// Max rows and columns of a tile on any processor.
  static constexpr int64_t maxRows = 14, maxColumns = 32;
  /// Padding between copied rows of A, in elements, so that rows do not map to
  /// the same set of the cache.
  static constexpr int64_t gap = 16;
  /// Number of tiles that share each panel while the panels are packed.
  static constexpr int together = 2;

  /// Takes the next tile of rows as the current tile with index `place`.
  void takeTile(int place) {
    TileRows<T> &taken = group[place];
    Tile<T> &tile = tiles[place];
    taken = rows.get();
    rows.next();
    tile = {};
    tile.a = taken.a, tile.aRow = p.aRow[2], tile.cRow = p.cRow[2];
    tile.terms = part.sum[2], tile.aTerm = p.aSum[2], tile.bTerm = p.bSum[2];
    tile.inner = part.sum[1], tile.aInner = p.aSum[1], tile.bInner = p.bSum[1];
    tile.outer = part.sum[0], tile.aOuter = p.aSum[0], tile.bOuter = p.bSum[0];
    tile.add = part.add;
    if (copiesTerms || copiesRows) {
      T *copy = copies[place];
      copyRows(taken, copy);
      tile.a = copy;
      (copiesTerms ? tile.aTerm : tile.aRow) =
          copiesTerms ? taken.rows : terms + gap;
    }
  }

  void copyRows(const TileRows<T> &from, T *to) const {
    if (copiesTerms)
      return part.tiles.packRows(to, from.a, p.aSum[2], terms, from.rows,
                                 from.rows);
    for (int64_t row = 0; row < from.rows; ++row)
      std::copy_n(from.a + row * p.aRow[2], terms, to + row * (terms + gap));
  }

  /// Runs the current tiles on all panels.
  void multiplyPanels(int count, bool first) {
    const T *panel = packed ? packed : b;
    for (int64_t j = 0, width; j < columns; j += width) {
      width = widthAt(j);
      const int64_t used = std::min(width, columns - j);
      if (first)
        packPanel(b + j * p.bColumn, int(used), int(width), packed + j * terms);
      for (int i = 0; i < count; ++i) {
        // Changed in place: a copy would wait for values just stored.
        Tile<T> &tile = tiles[i];
        tile.b = tile.ahead = panel;
        tile.aheadStep = tile.aheadBlock = 0;
        if (packed) {
          tile.bTerm = width;
          tile.bInner = tile.terms * width;
          tile.bOuter = tile.inner * tile.bInner;
        }
        if (simple && first && j + width < columns)
          bringNear(tile, b + (j + width + i * width / together) * p.bColumn,
                    p.bColumn, p.bSum[2]);
        else if (simple && i == 0 && !rows.done() && (first || j == 0))
          bringRowsNear(tile);
        multiplyPanel(tile, width, used, group[i], group[i].c + j * p.cColumn);
      }
      panel += packed ? terms * width : width;
    }
  }

  /// Columns of the panel that starts at column `j`.
  int64_t widthAt(int64_t j) const {
    return columns - j > part.tiles.lanes ? 2 * part.tiles.lanes
                                          : part.tiles.lanes;
  }

  /// Makes `tile` prefetch rows of A, or columns of B, from `from` on. Their
  /// stride is `row`, that of the terms of the sum `term`. If terms are
  /// contiguous, it prefetches one line of each of 16 rows, then their next
  /// lines; else one line per term.
  void bringNear(Tile<T> &tile, const T *from, int64_t row,
                 int64_t term) const {
    constexpr int64_t line = 64 / sizeof(T);
    tile.ahead = from;
    tile.aheadStep = term == 1 ? row : term;
    tile.aheadBlock = term == 1 ? line - 16 * row : 0;
  }

  /// Makes `tile` prefetch the rows of A of the tile after the current ones.
  void bringRowsNear(Tile<T> &tile) const {
    const TileRows<T> next = rows.get();
    // If terms are not contiguous but neighbouring rows are, the first rows may
    // share a line with the previous tile, so the line of the last one is
    // prefetched.
    const int64_t past = p.aSum[2] == 1 ? 0 : (next.rows - 1) * p.aRow[2];
    bringNear(tile, next.a + past, p.aRow[2], p.aSum[2]);
  }

  /// Packs a panel of B, of whose `width` columns `used` exist, one row per
  /// term.
  void packPanel(const T *from, int used, int width, T *to) const {
    const int64_t count = part.sum[2];
    for (int64_t s0 = 0; s0 < part.sum[0]; ++s0)
      for (int64_t s1 = 0; s1 < part.sum[1]; ++s1, to += count * width) {
        const T *start = from + s0 * p.bSum[0] + s1 * p.bSum[1];
        if (p.bColumn == 1)
          part.tiles.packRows(to, start, p.bSum[2], count, used, width);
        else if (p.bSum[2] == 1)
          part.tiles.packColumns(to, start, p.bColumn, count, used, width);
        else
          for (int64_t k = 0; k < count; ++k)
            for (int64_t i = 0; i < width; ++i)
              to[k * width + i] =
                  i < used ? start[k * p.bSum[2] + i * p.bColumn] : T(0);
      }
  }

  /// Runs a tile on one panel, of whose `width` columns C has `used`.
  void multiplyPanel(Tile<T> &tile, int64_t width, int64_t used,
                     const TileRows<T> &of, T *c) const {
    int vectors = int(width / part.tiles.lanes);
    if (used < width || p.cColumn != 1)
      return multiplyAside(tile, vectors, of.rows, c, used);
    tile.c = c;
    part.tiles.tile[vectors - 1][of.rows - 1](tile);
  }

  /// Runs a tile into a buffer on the stack and copies or adds it to C: for C
  /// whose neighbouring columns are not adjacent in memory, or that has fewer
  /// columns than the tile.
  void multiplyAside(Tile<T> tile, int vectors, int count, T *c,
                     int64_t used) const {
    const int64_t width = vectors * part.tiles.lanes;
    T sums[maxRows * maxColumns];
    tile.c = sums, tile.cRow = width, tile.add = false;
    part.tiles.tile[vectors - 1][count - 1](tile);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < used; ++j) {
        T &to = c[i * p.cRow[2] + j * p.cColumn];
        to = part.add ? to + sums[i * width + j] : sums[i * width + j];
      }
  }

  const Part<T> &part;
  const Product &p;
  const T *b;
  T *packed;
  const int64_t columns, terms;
  const bool simple; ///< the sum is one loop
  bool copiesTerms, copiesRows;
  RowTiles<T> rows;
  TileRows<T> group[together];
  Tile<T> tiles[together];
  alignas(64) T copies[together][maxRows * (maxTerms + gap)];
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_MULTIPLYBLOCK_H
