//===- Prepare.h - from an artifact to a verified plan ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records, orders, plans and verifies a step. That needs addresses, but no
// device: a dry run gives it made-up ones.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PREPARE_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PREPARE_H

#include "Plan.h"

#include <string>

namespace stagewright::runtime::cuda {

struct Prepared {
  std::vector<RankProgram> programs;
  Plan plan;
};

/// What a rank's memory on its device holds, in this order; bytes.
struct RankMemory {
  int64_t arena = 0;     ///< as the compiler printed it
  int64_t senders = 0;   ///< slots of messages that leave the device
  int64_t constants = 0; ///< of the artifact
  int64_t workspace = 0; ///< of libraries; 0: none
  /// Where the workspace begins: the first multiple of `workspaceAlignment`
  /// behind everything else.
  int64_t workspaceOffset() const;
  /// From the first byte to behind the last.
  int64_t total() const;
};

/// How messages travel between ranks on these devices.
std::vector<Route> routesOf(const Manifest &manifest,
                            const std::vector<int> &devices);

/// Sizes of the memory of a rank whose program holds contractions or not.
RankMemory memoryOf(const Manifest &manifest, const Memory &memory,
                    int64_t rank, bool contracts);

/// Sets the addresses of `memory` for arenas at `bases`.
void placeMemory(const Manifest &manifest, Memory &memory,
                 const std::vector<Address> &bases);

/// The whole road, with addresses set.
Prepared prepareStep(const Artifact &artifact, const Memory &memory,
                     int64_t microbatches, const PlanOptions &options);

/// The whole road with made-up addresses.
struct DryRun {
  Prepared prepared;
  Memory memory;
  std::vector<RankMemory> sizes; ///< by rank
};
DryRun dryRun(const Artifact &artifact, const std::vector<Layout> &layouts,
              const std::vector<Route> &routes, int64_t microbatches,
              const std::vector<bool> &local);

/// Which GPU each rank runs on, from the user's list ("0,0,1,1"; one entry per
/// rank). Without one ranks go to `count` GPUs in order, neighbours together
/// where there are fewer GPUs than ranks.
std::vector<int> placeRanks(const std::string &list, size_t ranks, int count);

/// What the ranks of a step call, with so many microbatches, 0: as compiled;
/// each on a device and in a process of its own, at made-up addresses. Throws
/// an `Error` if the target is no device.
std::vector<RankProgram> recordStep(const Artifact &artifact,
                                    int64_t microbatches);

/// Prepares a step with made-up addresses; what was proved and counted, one
/// line per fact. With `processes` every rank has a process of its own, and
/// each one's plan is verified.
std::string proveStep(const Artifact &artifact, int64_t microbatches,
                      const std::string &devices, bool processes);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PREPARE_H
