//===- Placement.h - which process runs which rank --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PLACEMENT_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PLACEMENT_H

#include "Artifact/Manifest.h"

namespace stagewright::runtime {

/// The rank of every process. Ranks whose devices share a host in the plan go
/// to processes that share one: the hosts of the plan, by their number, take in
/// turn the first host of the launch that has as many processes and is left;
/// on a host, ranks and processes go in order. With `anyHosts` process i has
/// rank i. `hosts` are the names of the hosts, by process. Throws where the
/// launch does not fit the plan; linear but for the hosts, which are few.
std::vector<int64_t> placeRanks(const Manifest &manifest,
                                const std::vector<std::string> &hosts,
                                bool anyHosts);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PLACEMENT_H
