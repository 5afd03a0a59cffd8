//===- LayerGroups.h - layers that are never apart --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. A layer that takes no time, has one neighbour in the
// forward, and whose values all touch that neighbour is part of it, since
// moving it there never makes a load larger (masks, weights of an operator
// graph; as in the public program of dnn-partitioning. Where memory is tight it
// can cost a solution).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_LAYERGROUPS_H
#define STAGEWRIGHT_PLANNING_LAYERGROUPS_H

#include "stagewright/Planning/Problem.h"
#include <set>

namespace stagewright {

/// The layers that `value` touches.
std::set<int64_t> layersOf(const Value &value);

/// Whether the forward of the user waits for the forward of the producer.
bool isForward(const Value &value, const LayerPhase &use);

/// The layer that each layer is part of; most are part of themselves.
std::vector<int64_t> groupLayers(const Problem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_LAYERGROUPS_H
