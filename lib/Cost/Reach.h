//===- Reach.h - whether links join all devices -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to lib/Cost.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_REACH_H
#define STAGEWRIGHT_COST_REACH_H

#include "stagewright/Cost/Cluster.h"

namespace stagewright {

/// Fails if links, in either direction, and the fabric do not connect all
/// devices; the error names the first device and one that is not connected to
/// it. Takes about O(devices + links).
Status checkReach(const Cluster &cluster);

/// `number` as JSON: a short decimal that reads back as the same value.
std::string toText(double number);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_REACH_H
