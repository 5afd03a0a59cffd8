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
  Flops rest = work.flops;
  Seconds arithmetic;
  for (const auto &[type, flops] : work.contractions)
    if (auto rate = device.rates.find(type); rate != device.rates.end()) {
      rest -= flops;
      arithmetic += flops / rate->second;
    }
  rest = std::max(rest, Flops()); // Counts are rounded.
  return std::max(arithmetic + rest / device.flops,
                  (work.read + work.written) / device.bandwidth);
}

} // namespace stagewright
