//===- Contraction.h - share of its rate that a device reaches --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU divides the result of a contraction into tiles, and each multiprocessor
// computes one at a time. Three effects reduce the rate:
//
//  - even the best size reaches only a share of it (`most`), because clocks
//    fall under full load;
//  - tiles extend beyond the edge, and the last wave of tiles does not fill all
//    multiprocessors (NVIDIA, Matrix Multiplication Background User's Guide,
//    sections 3.1 and 3.2);
//  - filling and draining a tile takes as long as `depth` more steps of the
//    summed dimension.
//
// Libraries choose among tile sizes and may split the sum of a product with few
// tiles; the model takes the best choice. Tiles that are smaller than 128 by
// 128 reuse operands less, and are limited by the speed at which operands are
// loaded.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_CONTRACTION_H
#define STAGEWRIGHT_COST_CONTRACTION_H

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace stagewright {

/// `batch` matrix products of m x k and k x n. All sizes are 0 if unknown.
struct Contraction {
  std::string type; ///< Element type, as in Device::rates ("bf16").
  int64_t batch = 0, m = 0, n = 0, k = 0;

  friend auto operator<=>(const Contraction &, const Contraction &) = default;
};

/// The efficiency of contractions of one element type.
struct Efficiency {
  double most = 1;  ///< Max share of the rate at any size, up to 1.
  double depth = 0; ///< The k at which a tile reaches half of that.

  friend bool operator==(const Efficiency &, const Efficiency &) = default;
};

/// The efficiency of a device by size. By default every size reaches the rate.
struct ContractionModel {
  int64_t processors = 0; ///< Multiprocessors; 0: tiles are not modelled.
  /// By element type; for a type without an entry only tiles reduce the rate.
  std::map<std::string, Efficiency> efficiency;

  friend bool operator==(const ContractionModel &,
                         const ContractionModel &) = default;
};

/// The share of the rate of its type that `contraction` reaches: above 0, at
/// most 1.
double shareOfRate(const Contraction &contraction,
                   const ContractionModel &model);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_CONTRACTION_H
