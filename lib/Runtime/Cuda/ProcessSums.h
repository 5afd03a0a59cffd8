//===- ProcessSums.h - sums among the ranks of one process ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL between ranks that are all in this process, each on a device of its own.
// One host thread enqueues the parts of all ranks of a sum, as one group of
// NCCL calls, because NCCL may wait for all parts before it returns. Calls
// block: no partner can end without this process.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PROCESSSUMS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PROCESSSUMS_H

#include "Device.h"
#include "SumGroups.h"

namespace stagewright::runtime::cuda {

class ProcessSums {
public:
  /// Creates the communicators. `devices` by rank.
  ProcessSums(const Manifest &manifest,
              const std::vector<const Device *> &devices);
  ~ProcessSums();
  ProcessSums(const ProcessSums &) = delete;
  ProcessSums &operator=(const ProcessSums &) = delete;

  /// Sums once for each kind of sum, in buckets that are unused so far and
  /// zero, so that NCCL connects the ranks now. `streams` by rank.
  void connect(const Memory &memory, const std::vector<Stream> &streams) const;

  /// Enqueues the part of `rank` in a sum, in place. The parts of a sum must be
  /// enqueued one after another, in the order of its buckets.
  void sum(int64_t collective, int64_t rank, Address bucket,
           Stream stream) const;

private:
  void destroy() const noexcept;

  const Manifest &manifest;
  const std::vector<const Device *> &devices;
  SumGroups groups;
  /// By group, and by rank of it in the order of its buckets.
  std::vector<std::vector<Communicator>> handles;
  mutable bool failed = false; ///< a rank has begun a sum that others have not
};

/// Throws if there are sums and two ranks have the same device. On a device
/// that runs several ranks, a sum that waits for its partners could keep
/// another rank idle for which a partner waits. `devices` by rank.
void requireOwnDevices(const Manifest &manifest,
                       const std::vector<int> &devices);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PROCESSSUMS_H
