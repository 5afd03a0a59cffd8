//===- Contraction.cpp - share of its rate that a device reaches ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Contraction.h"
#include <algorithm>
#include <utility>

namespace stagewright {

/// Rows and columns of the tiles for which cuBLASLt has the most kernels
/// (cublasLtMatmulTile_t).
static constexpr std::pair<int64_t, int64_t> kTiles[] = {
    {256, 128}, {128, 256}, {192, 128}, {128, 192},
    {128, 128}, {128, 64},  {64, 128},  {64, 64}};
/// Products per loaded element of the operands, in a tile of 128 by 128: rows x
/// columns / (rows + columns).
static constexpr double kFullReuse = 64;
/// Max number of parts into which the summed dimension is cut.
static constexpr int64_t kMostParts = 16;

/// Number of pieces of `size` that cover `count`; the last may be partial.
static double pieces(double count, double size) {
  return double(int64_t((count + size - 1) / size));
}

double shareOfRate(const Contraction &contraction,
                   const ContractionModel &model) {
  auto found = model.efficiency.find(contraction.type);
  Efficiency efficiency =
      found == model.efficiency.end() ? Efficiency() : found->second;
  auto [type, batch, m, n, k] = contraction;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0)
    return efficiency.most;
  auto filled = [&](int64_t parts) {
    double depth = double(k) / double(parts);
    return depth / (depth + efficiency.depth);
  };
  if (model.processors <= 0)
    return efficiency.most * filled(1);
  auto processors = double(model.processors);
  double best = 0;
  for (auto [rows, columns] : kTiles)
    for (int64_t parts = 1; parts <= std::min(k, kMostParts); parts *= 2) {
      double area = double(rows * columns);
      double tiles = double(batch) * pieces(double(m), double(rows)) *
                     pieces(double(n), double(columns)) * double(parts);
      double used = double(batch) * double(m) * double(n) * double(parts) /
                    (pieces(tiles, processors) * processors * area);
      double reuse = area / double(rows + columns) / kFullReuse;
      best = std::max(best, used * std::min(1.0, reuse) * filled(parts));
    }
  return efficiency.most * best;
}

} // namespace stagewright
