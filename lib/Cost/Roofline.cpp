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
  for (const auto &[contraction, flops] : work.contractions) {
    auto rate = device.rates.find(contraction.type);
    FlopRate most = rate == device.rates.end() ? device.flops : rate->second;
    rest -= flops;
    arithmetic +=
        flops / (most * shareOfRate(contraction, device.contractions));
  }
  rest = std::max(rest, Flops()); // Rounded counts could leave less than 0.
  return std::max(arithmetic + rest / device.flops,
                  (work.read + work.written) / device.bandwidth);
}

} // namespace stagewright
