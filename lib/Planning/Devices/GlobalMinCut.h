//===- GlobalMinCut.h - minimum cut of a weighted graph ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stoer and Wagner, A simple min-cut algorithm (JACM 44, 1997). It is not
// Boost.Graph's stoer_wagner_min_cut: that one does not contract vertices up to
// Boost 1.79, so its cut is not always minimal (boostorg/graph issue 286: two
// complete graphs of four vertices joined by an edge of 6 give 7 with the 1.74
// of Debian 12), and its choice among equal cuts depends on the layout of a
// heap, while ours must be the same everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_GLOBALMINCUT_H
#define STAGEWRIGHT_LIB_PLANNING_GLOBALMINCUT_H

#include <cstddef>
#include <vector>

namespace stagewright {

/// A partition of the vertices into two sides that are not empty.
struct GraphCut {
  double weight = 0; ///< Of all edges between the sides.
  std::vector<bool> side;
};

/// A minimum cut of the graph of `count` >= 2 vertices with the symmetric
/// `weights` (count x count, not negative; the diagonal is not read). Of equal
/// cuts the first found, with vertices visited by their numbers. O(V^3).
GraphCut globalMinCut(size_t count, std::vector<double> weights);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_GLOBALMINCUT_H
