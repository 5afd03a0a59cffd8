//===- BlockLook.cpp - colours and labels of blocks -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockLook.h"
#include "stagewright/Support/Printed.h"
#include <algorithm>
#include <cstdio>
#include <iterator>

namespace stagewright {

const Look &lookOf(BlockKind kind) {
  // In the order of BlockKind.
  static constexpr Look looks[] = {
      {"forward", "forward", "#4c78a8", "#fff"},
      {"backward", "backward", "#f58518", "#fff"},
      {"input gradient", "gradient of inputs", "#e45756", "#fff"},
      {"weight gradient", "gradient of weights", "#54a24b", "#fff"},
      {"recompute", "forward again", "#72b7b2", "#fff"},
      {"transfer", "transfer", "#b8cbe0", "#334"},
      {"transfer", "transfer back", "#fbd0a2", "#430"},
      {"copy", "copy to the host", "#d7d3c3", "#433"},
      {"copy", "copy from the host", "#c9b99a", "#433"},
      {"all-reduce", "all-reduce", "url(#hatch)", "#fff"},
      {"tie", "gradient of a tied parameter", "url(#ties)", "#fff"},
  };
  static_assert(std::size(looks) == size_t(BlockKind::Tie) + 1);
  return looks[size_t(kind)];
}

bool isTransfer(BlockKind kind) {
  return kind == BlockKind::SendForward || kind == BlockKind::SendBackward;
}

std::string fillOf(const PipelineBlock &block,
                   const std::vector<size_t> &shades) {
  const char *fill = lookOf(block.kind).fill;
  if (fill[0] != '#' || isTransfer(block.kind) || shades[block.number] == 0)
    return fill;
  double white = std::min(0.5, 0.25 * double(shades[block.number]));
  unsigned colour = 0;
  std::sscanf(fill + 1, "%x", &colour);
  unsigned mixed = 0;
  for (int shift : {16, 8, 0}) {
    double part = (colour >> shift) & 255;
    mixed |= unsigned(part + (255 - part) * white) << shift;
  }
  return printed("#%06x", mixed);
}

} // namespace stagewright
