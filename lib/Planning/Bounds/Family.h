//===- Family.h - costs that no device list can beat ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: the relaxed instance whose dynamic program gives the
// lower bound over all contiguous plans (docs/planner.md).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_FAMILY_H
#define STAGEWRIGHT_PLANNING_FAMILY_H

#include "Spp/PrmBlocks.h"

namespace stagewright {

/// Layers take what the fastest class takes; a block of width r is as fast as
/// the r fastest devices together; every channel is min(r, q) of the fastest
/// link. On a large cluster widths fall into classes that count as their least
/// and are as fast as their most, which keeps the bound valid.
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
