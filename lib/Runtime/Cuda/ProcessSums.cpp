//===- ProcessSums.cpp - sums among the ranks of one process --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessSums.h"

#include "stagewright/Runtime/Error.h"

#include <map>

namespace stagewright::runtime::cuda {

ProcessSums::ProcessSums(const Manifest &manifest,
                         const std::vector<const Device *> &devices)
    : manifest(manifest), devices(devices), groups(manifest) {
  try {
    for (const SumGroup &group : groups.all) {
      std::vector<int> numbers;
      for (int64_t rank : group.ranks)
        numbers.push_back(devices[size_t(rank)]->number());
      handles.emplace_back(numbers.size(), nullptr);
      nccl().commInitAll(handles.back().data(), int(numbers.size()),
                         const_cast<const int *>(numbers.data()));
    }
  } catch (...) {
    destroy();
    throw;
  }
}

ProcessSums::~ProcessSums() { destroy(); }

/// Finalizing waits for all ranks of a communicator, so it is one group of
/// calls. Parts of a sum whose partners failed to begin are aborted: nothing
/// else ends them.
void ProcessSums::destroy() const noexcept {
  auto forAll = [&](const auto &function) {
    for (const auto &group : handles)
      for (Communicator handle : group)
        if (handle)
          function.status(handle);
  };
  if (failed)
    return forAll(nccl().commAbort);
  if (handles.empty())
    return;
  nccl().groupStart.status();
  forAll(nccl().commFinalize);
  nccl().groupEnd.status();
  forAll(nccl().commDestroy);
}

void ProcessSums::connect(const Memory &memory,
                          const std::vector<Stream> &streams) const {
  for (size_t g = 0; g < groups.all.size(); ++g) {
    for (int64_t c : groups.kindsOf(g, manifest))
      for (int64_t rank : groups.all[g].ranks) {
        devices[size_t(rank)]->use();
        sum(c, rank, memory.bucket(manifest, c, rank), streams[size_t(rank)]);
      }
    for (int64_t rank : groups.all[g].ranks) {
      devices[size_t(rank)]->use();
      driver().streamSynchronize(streams[size_t(rank)]);
    }
  }
}

void ProcessSums::sum(int64_t collective, int64_t rank, Address bucket,
                      Stream stream) const {
  size_t group = groups.of[size_t(collective)];
  const std::vector<int64_t> &ranks = groups.all[group].ranks;
  const Collective &it = manifest.collectives[size_t(collective)];
  if (rank == ranks.front())
    nccl().groupStart();
  int status =
      enqueueSum(it, rank, bucket, handles[group][it.placeOf(rank)], stream);
  if (status) {
    failed = true;
    nccl().groupEnd.status();
    NcclErrors::fail(nameOfSum(it), status);
  }
  if (rank == ranks.back())
    nccl().groupEnd();
}

void requireOwnDevices(const Manifest &manifest,
                       const std::vector<int> &devices) {
  if (manifest.collectives.empty())
    return;
  std::map<int, size_t> ranks; // By device.
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    auto [other, isNew] = ranks.insert({devices[rank], rank});
    if (!isNew)
      raise("ranks ", other->second, " and ", rank, " share device ",
            devices[rank], " within one process, and for ",
            manifest.collectives.front().describe(),
            " each needs a device of its own: "
            "give more devices, run each rank in a process of its own with "
            "--processes, or compile ",
            manifest.collectives.front().carried ? "without --average-every"
            : manifest.collectives.front().gathers
                ? "without --shard-collectives"
                : "with --bucket-bytes=0");
  }
}

} // namespace stagewright::runtime::cuda
