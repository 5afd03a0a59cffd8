//===- Generators.cpp - the list of generators ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"
#include <array>

namespace stagewright {

std::span<const Generator> allGenerators() {
  using enum Placement;
  static constexpr std::array<Generator, 4> generators = {
      {{"gpipe", "gpipe", Linear, 1, 1, true, false,
        "all forwards, then all backwards", generateGPipe},
       {"1f1b", "one_f_one_b", Linear, 1, 1, true, false,
        "p - r forwards, then one backward, one forward", generateOneFOneB},
       {"early-backward", "early_backward", Linear, 1, 1, true, false,
        "1F1B with 2 (p - r) - 1 forwards first (P_B of DAPPLE)",
        generateEarlyBackward},
       {"window", "window", Linear, 1, 1, true, false,
        "SPP's order with a bound: 4 (p - 1 - r) forwards first",
        generateWindow}}};
  return generators;
}

Result<Generator> findGenerator(std::string_view name) {
  // DAPPLE's names for two orders that others have found as well.
  if (name == "dapple-a")
    name = "1f1b";
  if (name == "dapple-b")
    name = "early-backward";
  std::string known;
  for (const Generator &generator : allGenerators()) {
    if (name == generator.name)
      return generator;
    known += (known.empty() ? "" : ", ") + std::string(generator.name);
  }
  return Error{"unknown schedule '" + std::string(name) + "'; there are " +
               known};
}

ScheduleFamily familyOf(const Generator &generator, int64_t ranks,
                        bool forwardOnly) {
  return [=](int64_t microbatches) {
    return *generator.generate({ranks, microbatches, forwardOnly});
  };
}

} // namespace stagewright
