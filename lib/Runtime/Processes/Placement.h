//===- Placement.h - assignment of ranks to processes -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PLACEMENT_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PLACEMENT_H

#include "Artifact/Manifest.h"

namespace stagewright::runtime {

/// The rank of every process. Ranks on one host in the plan get processes on
/// one host: each host of the plan, by number, takes the first free host of the
/// launch with as many processes; on a host, ranks and processes are matched in
/// order. With `anyHosts` process i has rank i. `hosts` are the host names by
/// process. Throws if the launch does not fit the plan. Linear in processes,
/// quadratic in hosts.
std::vector<int64_t> placeRanks(const Manifest &manifest,
                                const std::vector<std::string> &hosts,
                                bool anyHosts);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PLACEMENT_H
