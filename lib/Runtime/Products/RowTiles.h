//===- RowTiles.h - the row tiles of a product ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_ROWTILES_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_ROWTILES_H

#include <cstdint>

namespace stagewright::runtime {

/// The rows of one tile; `a` and `c` point to the first one in A and in C.
template <typename T> struct TileRows {
  int rows;
  const T *a;
  T *c;
};

/// Iterates over the tiles of all rows, which are three loops. Tiles have
/// nearly equal sizes: a tile of one or two rows wastes most of its loads.
template <typename T> class RowTiles {
public:
  /// Extents of the loops, strides of their rows in A and C, and the max number
  /// of rows per tile.
  RowTiles(const int64_t (&extents)[3], const int64_t (&aRow)[3],
           const int64_t (&cRow)[3], int64_t maxRows, const T *a, T *c)
      : extents(extents), aRow(aRow), cRow(cRow), a(a), c(c),
        perLoop((extents[2] + maxRows - 1) / maxRows), left(perLoop) {}

  bool done() const {
    return perLoop == 0 || extents[1] == 0 || row[0] >= extents[0];
  }

  TileRows<T> get() const {
    return {int((extents[2] - row[2] + left - 1) / left),
            a + row[0] * aRow[0] + row[1] * aRow[1] + row[2] * aRow[2],
            c + row[0] * cRow[0] + row[1] * cRow[1] + row[2] * cRow[2]};
  }

  void next() {
    row[2] += get().rows;
    if (--left > 0)
      return;
    left = perLoop, row[2] = 0;
    if (++row[1] == extents[1])
      row[1] = 0, ++row[0];
  }

private:
  const int64_t (&extents)[3], (&aRow)[3], (&cRow)[3];
  const T *a;
  T *c;
  int64_t perLoop, left, row[3] = {};
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_ROWTILES_H
