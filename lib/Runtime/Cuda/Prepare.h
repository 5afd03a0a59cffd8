//===- Prepare.h - from an artifact to a verified plan ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records, orders, plans and verifies a step. This needs addresses, but no
// device: a dry run uses invented addresses.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PREPARE_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PREPARE_H

#include "StreamPlan.h"

#include <string>

namespace stagewright::runtime::cuda {

struct Prepared {
  std::vector<RankProgram> programs;
  Plan plan;
};

/// The parts of a rank's memory on its device, in this order; bytes.
struct RankMemory {
  int64_t arena = 0;     ///< as the compiler reported it
  int64_t senders = 0;   ///< slots of messages that leave the device
  int64_t constants = 0; ///< copies of the artifact's constant arrays
  int64_t workspace = 0; ///< of libraries; 0: none
  /// Offset of the workspace: the first multiple of `workspaceAlignment` after
  /// all other parts.
  int64_t workspaceOffset() const;
  /// Bytes of all parts, including padding.
  int64_t total() const;
};

/// By channel: how its messages are sent between ranks on these devices.
std::vector<Route> routesOf(const Manifest &manifest,
                            const std::vector<int> &devices);

/// Sizes of the memory of a rank; `contracts`: its program has contractions.
RankMemory memoryOf(const Manifest &manifest, const Memory &memory,
                    int64_t rank, bool contracts);

/// Sets the addresses of `memory` for arenas at `bases`.
void placeMemory(const Manifest &manifest, Memory &memory,
                 const std::vector<Address> &bases);

/// All phases, with the addresses set in `memory`.
Prepared prepareStep(const Artifact &artifact, const Memory &memory,
                     int64_t microbatches, const PlanOptions &options);

/// The result of all phases with invented addresses.
struct DryRun {
  Prepared prepared;
  Memory memory;
  std::vector<RankMemory> sizes; ///< by rank
};
DryRun dryRun(const Artifact &artifact, const std::vector<Layout> &layouts,
              const std::vector<Route> &routes, int64_t microbatches,
              const std::vector<bool> &local);

/// Which GPU each rank runs on, from the user's list ("0,0,1,1"; one entry per
/// rank). Without a list ranks are assigned to `count` GPUs in order;
/// neighbours share a GPU if there are fewer GPUs than ranks.
std::vector<int> placeRanks(const std::string &list, size_t ranks, int count);

/// The recorded programs of a step with `microbatches` (0: as compiled), as if
/// each rank had its own device and process, at invented addresses. Throws an
/// `Error` if the target is not a device.
std::vector<RankProgram> recordStep(const Artifact &artifact,
                                    int64_t microbatches);

/// Prepares a step with invented addresses; returns what was proved and
/// counted, one fact per line. With `processes` every rank has its own process,
/// and the plan of each is verified.
std::string proveStep(const Artifact &artifact, int64_t microbatches,
                      const std::string &devices, bool processes);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PREPARE_H
