//===- Contraction.h - what a device reaches of its rate --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU cuts the result of a contraction into tiles and gives each of its
// multiprocessors one at a time. Three things keep it from its rate:
//
//  - what even the best sizes leave (`most`): clocks fall under full load;
//  - tiles that hang over the edge, and a last wave of tiles that does not fill
//    all multiprocessors (NVIDIA, Matrix Multiplication Background User's
//    Guide, sections 3.1 and 3.2);
//  - the time to fill and drain a tile, which counts as `depth` more steps of
//    the summed dimension.
//
// A product with few tiles may cut its sum too, and libraries have a choice of
// tiles; what counts is the best of them, small tiles at the speed at which the
// operands of a tile of 128 by 128 come.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_CONTRACTION_H
#define STAGEWRIGHT_COST_CONTRACTION_H

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace stagewright {

/// `batch` products of matrices, m by k with k by n. All 0 where the size is
/// not known.
struct Contraction {
  std::string type; ///< Of the elements, as rates name it ("bf16").
  int64_t batch = 0, m = 0, n = 0, k = 0;

  friend auto operator<=>(const Contraction &, const Contraction &) = default;
};

/// What contractions of one element type reach.
struct Efficiency {
  double most = 1;  ///< Share of the rate that no size exceeds, up to 1.
  double depth = 0; ///< The k at which a tile reaches half of that.

  friend bool operator==(const Efficiency &, const Efficiency &) = default;
};

/// What a device reaches by size. As it is made, every size reaches the rate.
struct ContractionModel {
  int64_t processors = 0; ///< Multiprocessors; 0 where tiles do not count.
  /// By element type; one without an entry loses only what tiles lose.
  std::map<std::string, Efficiency> efficiency;

  friend bool operator==(const ContractionModel &,
                         const ContractionModel &) = default;
};

/// The share of the rate of its type that `contraction` reaches, over 0 and up
/// to 1.
double shareOfRate(const Contraction &contraction,
                   const ContractionModel &model);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_CONTRACTION_H
