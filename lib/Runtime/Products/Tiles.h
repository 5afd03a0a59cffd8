//===- Tiles.h - the inner loops of contractions ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only code of the runtime that is compiled once per instruction set:
// kernels for tiles of C that fit into registers, and the packing of B and A.
// `Multiply.cpp` handles descriptors and caches, and cuts products into tiles.
//
// The shape of a tile, broadcasts from rows of A times two vectors of B, is
// that of BLIS (Van Zee and van de Geijn, 2015). A is read in place, unless its
// rows or terms collide in the cache (MultiplyBlock.h): with at least six rows
// a tile has fewer loads than multiplications for any strides of A, so packing
// A would only add a copy.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_TILES_H
#define STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_TILES_H

#include <cstdint>

namespace stagewright::runtime {

/// C[i, j] (+)= the sum over `outer`, `inner` and `terms` of A[i] * B[j], for
/// the rows of one tile and one or two vectors of columns. Strides count
/// elements; columns of B and C are contiguous. With every term one cache line
/// is prefetched for later tiles: at `ahead`, which then advances by
/// `aheadStep`, and by `aheadBlock` more after every 16 terms.
template <typename T> struct Tile {
  const T *a, *b;
  T *c;
  int64_t aRow, cRow;
  int64_t terms, aTerm, bTerm;
  int64_t inner, aInner, bInner;
  int64_t outer, aOuter, bOuter;
  bool add;
  const T *ahead;
  int64_t aheadStep, aheadBlock;
};

/// The kernels for one instruction set.
template <typename T> struct Tiles {
  int lanes; ///< elements of a vector
  int rows;  ///< of the largest tile
  /// `tile[vectors - 1][rows - 1]`.
  void (*tile[2][14])(const Tile<T> &);
  /// to[k * width + j] = from[k * row + j]; columns up to `width`, one or two
  /// vectors, are filled with zeros.
  void (*packRows)(T *to, const T *from, int64_t row, int64_t terms,
                   int columns, int width);
  /// to[k * width + j] = from[k + j * column].
  void (*packColumns)(T *to, const T *from, int64_t column, int64_t terms,
                      int columns, int width);
};

extern const Tiles<float> portableTilesF32;
extern const Tiles<double> portableTilesF64;
#if defined(__x86_64__)
extern const Tiles<float> avx2TilesF32, avx512TilesF32;
extern const Tiles<double> avx2TilesF64, avx512TilesF64;
#endif

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PRODUCTS_TILES_H
