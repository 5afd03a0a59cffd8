//===- LayerGroups.h - layers that stay together ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. A layer that takes no time, has one neighbour in the
// forward, and whose values all touch that neighbour is joined to it, because
// moving it there never increases a load. Examples are masks and weights of an
// operator graph. The public program of dnn-partitioning does the same. If
// memory is tight, joining can exclude every solution.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_LAYERGROUPS_H
#define STAGEWRIGHT_PLANNING_LAYERGROUPS_H

#include "stagewright/Planning/Problem.h"
#include <set>

namespace stagewright {

/// The layers that `value` touches.
std::set<int64_t> layersOf(const LayerValue &value);

/// Whether the forward of the user waits for the forward of the producer.
bool isForward(const LayerValue &value, const LayerPhase &use);

/// The layer to which each layer is joined; for most, the layer itself.
std::vector<int64_t> groupLayers(const Problem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_LAYERGROUPS_H
