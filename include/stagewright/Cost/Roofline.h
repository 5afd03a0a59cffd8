//===- Roofline.h - seconds of a piece of work ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roofline model (Williams, Waterman, Patterson, CACM 2009): work takes the
// longer of its arithmetic at the device's rate and its traffic at the memory's
// bandwidth. A first estimate, which a measured profile replaces.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_ROOFLINE_H
#define STAGEWRIGHT_COST_ROOFLINE_H

#include "stagewright/Cost/Cluster.h"

namespace stagewright {

/// What running a node once does, on any device.
struct NodeWork {
  Flops flops;
  Bytes read, written;
  /// The part of the flops that are contractions.
  std::map<Contraction, Flops> contractions = {};
};

/// max(arithmetic, bytes / bandwidth) on `device`. Contractions run at the
/// device's rate for their element type, as much of it as their size reaches;
/// everything else, and types without a rate, at its `flops`.
Seconds rooflineSeconds(const NodeWork &work, const Device &device);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_ROOFLINE_H
