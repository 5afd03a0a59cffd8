//===- BlockLook.h - colours and words of blocks ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SIMULATION_BLOCKLOOK_H
#define STAGEWRIGHT_LIB_SIMULATION_BLOCKLOOK_H

#include "stagewright/Simulation/PipelineTimeline.h"
#include <string>

namespace stagewright {

/// How a kind of block looks; the colours are those of draw-trace.py.
struct Look {
  const char *words, *fill, *ink;
};

Look lookOf(BlockKind kind);

bool isTransfer(BlockKind kind);

/// The fill of a block, given the number that each stage has on its processor:
/// later ones are paler.
std::string fillOf(const PipelineBlock &block,
                   const std::vector<size_t> &shades);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SIMULATION_BLOCKLOOK_H
