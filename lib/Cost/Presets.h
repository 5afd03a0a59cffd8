//===- Presets.h - clusters by name -----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to lib/Cost.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_PRESETS_H
#define STAGEWRIGHT_COST_PRESETS_H

#include "stagewright/Cost/Cluster.h"

namespace stagewright {

/// A cluster of equal devices.
struct Preset {
  const char *name, *summary;
  std::vector<int64_t> hosts; ///< Devices of each host, if the name is
                              ///< not followed by a number.
  Device device;              ///< Without a name and a host.
  Fabric fabric;
};

/// All presets but `local`.
std::vector<Preset> presets();

} // namespace stagewright

#endif // STAGEWRIGHT_COST_PRESETS_H
