//===- FormsBound.cpp - bound of both forms of backwards ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Placed.h"
#include <algorithm>

namespace stagewright {

Seconds formsLowerBound(const Problem &whole, const Problem &apart) {
  Seconds work = std::min(workLowerBound(whole), workLowerBound(apart));
  Result<Network> network = Network::create(whole.cluster);
  auto devices = int64_t(whole.cluster.devices.size());
  if (!network || (whole.samples > 0 && whole.samples < devices))
    return work;
  PlacedFamily halves, wholes;
  for (const Generator &generator : allGenerators()) {
    if (generator.placement == Placement::Twin)
      continue;
    halves.generators.push_back(generator);
    if (!generator.splitsBackward)
      wholes.generators.push_back(generator);
  }
  Result<Seconds> one = placedFamilyBound(apart, halves);
  Result<Seconds> other = placedFamilyBound(whole, wholes);
  return one && other
             ? std::min({*one, *other, familyLowerBound(whole, *network)})
             : work;
}

} // namespace stagewright
