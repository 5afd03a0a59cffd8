//===- SumGroups.h - groups of ranks that sum together ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_SUMGROUPS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_SUMGROUPS_H

#include "Nccl.h"
#include "Program.h"

namespace stagewright::runtime::cuda {

/// Ranks that sum together. They need one communicator for all of their sums.
struct SumGroup {
  std::vector<int64_t> ranks;
  size_t collective = 0; ///< one of its collectives
};

/// The groups of an artifact, in the order of its collectives.
struct SumGroups {
  /// Throws if NCCL cannot sum the elements of a collective.
  explicit SumGroups(const Manifest &manifest);

  /// The collectives of a group to try before the first step: one for each
  /// element type and size of sums, gathers and exchanges, because NCCL
  /// connects the ranks at the first sum of a kind, which must not happen
  /// within a graph capture.
  std::vector<int64_t> kindsOf(size_t group, const Manifest &manifest) const;

  std::vector<SumGroup> all;
  std::vector<size_t> of; ///< by collective: the number of its group
};

/// Enqueues the part of `rank` in a collective, in place. Returns the status of
/// the function that nameOfSum() names.
int enqueueSum(const Collective &collective, int64_t rank, Address bucket,
               Communicator communicator, Stream stream);
/// NCCL's function for a collective.
const char *nameOfSum(const Collective &collective);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_SUMGROUPS_H
