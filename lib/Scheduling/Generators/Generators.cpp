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
  static constexpr std::array<Generator, 4> generators = {
      {{"gpipe", "gpipe", generateGPipe},
       {"1f1b", "one_f_one_b", generateOneFOneB},
       {"early-backward", "early_backward", generateEarlyBackward},
       {"window", "window", generateWindow}}};
  return generators;
}

Result<Generator> findGenerator(std::string_view name) {
  std::string known;
  for (const Generator &generator : allGenerators()) {
    if (name == generator.name)
      return generator;
    known += (known.empty() ? "" : ", ") + std::string(generator.name);
  }
  return Error{"unknown schedule '" + std::string(name) + "'; there are " +
               known};
}

ScheduleFamily familyOf(const Generator &generator, int64_t stages,
                        bool forwardOnly) {
  return [=](int64_t microbatches) {
    return generator.generate({stages, microbatches, forwardOnly});
  };
}

} // namespace stagewright
