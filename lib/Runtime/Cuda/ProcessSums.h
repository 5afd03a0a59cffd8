//===- ProcessSums.h - sums among the ranks of one process ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL between ranks that are all in this process, each on a device of its own.
// One host thread enqueues the parts of all ranks of a sum, as one group of
// NCCL calls, because NCCL may wait for all parts before it returns. The
// communicators are blocking, because no partner can end without this process.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PROCESSSUMS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PROCESSSUMS_H

#include "Device.h"
#include "SumGroups.h"

namespace stagewright::runtime::cuda {

class ProcessSums {
public:
  /// Creates the communicators. `devices` is indexed by rank.
  ProcessSums(const Manifest &manifest,
              const std::vector<const Device *> &devices);
  ~ProcessSums();
  ProcessSums(const ProcessSums &) = delete;
  ProcessSums &operator=(const ProcessSums &) = delete;

  /// Runs one sum of each element type and size, so that NCCL connects the
  /// ranks before the first step. Uses the sums' buckets, which hold zeros and
  /// nothing else yet. `streams` is indexed by rank.
  void connect(const Memory &memory, const std::vector<Stream> &streams) const;

  /// Enqueues the part of `rank` in a sum, in place. The parts of a sum must be
  /// enqueued one after another, in the order of `SumGroup::ranks`.
  void sum(int64_t collective, int64_t rank, Address bucket,
           Stream stream) const;

private:
  void destroy() const noexcept;

  const Manifest &manifest;
  const std::vector<const Device *> &devices;
  SumGroups groups;
  /// By group, then in the order of `SumGroup::ranks`.
  std::vector<std::vector<Communicator>> handles;
  mutable bool failed = false; ///< a rank has begun a sum that others have not
};

/// Throws if there are sums and two ranks have the same device: a sum occupies
/// the device until its partners begin, and could block another rank there that
/// a partner waits for. `devices` is indexed by rank.
void requireOwnDevices(const Manifest &manifest,
                       const std::vector<int> &devices);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PROCESSSUMS_H
