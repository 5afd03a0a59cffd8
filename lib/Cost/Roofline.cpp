//===- Roofline.cpp - seconds of a piece of work --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Roofline.h"
#include <algorithm>

namespace stagewright {

Seconds rooflineSeconds(const NodeWork &work, const Device &device) {
  return std::max(work.flops / device.flops,
                  (work.read + work.written) / device.bandwidth);
}

} // namespace stagewright
