//===- BlockLook.h - colours and labels of blocks ---------------*- C++ -*-===//
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

/// Category in traces, label, fill and text colour of a kind of block, as in
/// draw-trace.py.
struct Look {
  const char *category, *words, *fill, *ink;
};

const Look &lookOf(BlockKind kind);

bool isTransfer(BlockKind kind);

/// The fill colour of a block. `shades[s]` is the index of stage s among the
/// stages of its processor: later stages are paler.
std::string fillOf(const PipelineBlock &block,
                   const std::vector<size_t> &shades);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SIMULATION_BLOCKLOOK_H
