//===- Roofline.h - seconds by the roofline model ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roofline model (Williams, Waterman, Patterson, CACM 2009): the time of
// work is the max of its arithmetic at the device's rate and its traffic at the
// memory's bandwidth. It is a first estimate; a measured profile replaces it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_ROOFLINE_H
#define STAGEWRIGHT_COST_ROOFLINE_H

#include "stagewright/Cost/Cluster.h"

namespace stagewright {

/// The work of running a node once, on any device.
struct NodeWork {
  Flops flops;
  Bytes read, written;
  /// The part of `flops` that contractions do.
  std::map<Contraction, Flops> contractions = {};
};

/// max(arithmetic, bytes / bandwidth) on `device`. Contractions run at the
/// share that their size reaches of the device's rate for their element type,
/// or of its `flops` for a type without a rate; other operations at its
/// `flops`.
Seconds rooflineSeconds(const NodeWork &work, const Device &device);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_ROOFLINE_H
