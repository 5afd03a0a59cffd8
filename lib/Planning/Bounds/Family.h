//===- Family.h - relaxed costs for a lower bound ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the relaxed instance whose dynamic program gives the
// lower bound over all contiguous plans (docs/planner.md).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_FAMILY_H
#define STAGEWRIGHT_PLANNING_FAMILY_H

#include "Spp/PrmBlocks.h"

namespace stagewright {

/// Layers take their time on the fastest class; a block of width r is as fast
/// as the r fastest devices together; a channel between widths r and q has
/// min(r, q) times the bandwidth of the fastest link, or max(r, q) times if
/// replicas may take turns. On a large cluster widths are grouped into ranges.
/// A block of a range uses as many devices as its smallest width and is as fast
/// as its largest, which keeps the bound valid.
struct Family {
  Family(const Problem &problem, const Network &network);

  ChainCosts costs;
  PrmBlocks blocks;
  std::vector<double> speeds; ///< By device, fastest first; at most 1.

private:
  void addBlocks(const Problem &problem, const Network &network);
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_FAMILY_H
