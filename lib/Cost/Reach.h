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

/// Fails if no path of links leads from the first device to some other one; the
/// error names both. O(V + links).
Status checkReach(const Cluster &cluster);

/// The shortest decimal that reads back as `number`, as JSON writes it.
std::string toText(double number);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_REACH_H
