//===- SumGroups.cpp - groups of ranks that sum together ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumGroups.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace stagewright::runtime::cuda {

/// NCCL's number of the element type of a collective.
static int elementOf(const Collective &sum) {
  switch (sum.dtype) {
  case SW_F32:
    return ncclFloat32;
  case SW_F64:
    return ncclFloat64;
  case SW_F16:
    return ncclFloat16;
  case SW_BF16:
    return ncclBfloat16;
  case SW_I8:
    return ncclInt8;
  case SW_U8:
    return ncclBytes;
  case SW_I32:
    return ncclInt32;
  case SW_U32:
    return ncclUint32;
  case SW_I64:
    return ncclInt64;
  case SW_U64:
    return ncclUint64;
  default:
    raise("NCCL does not sum elements of type ", dtypeName(sum.dtype), ", as '",
          sum.name, "' needs; compile with --bucket-bytes=0");
  }
}

SumGroups::SumGroups(const Manifest &manifest) {
  for (size_t c = 0; c < manifest.collectives.size(); ++c) {
    const Collective &sum = manifest.collectives[c];
    if (!sum.gathers)
      elementOf(sum);
    std::vector<int64_t> ranks;
    for (const Bucket &bucket : sum.buckets)
      ranks.push_back(bucket.rank);
    auto known = std::find_if(all.begin(), all.end(), [&](const auto &it) {
      return it.ranks == ranks;
    });
    of.push_back(size_t(known - all.begin()));
    if (known == all.end())
      all.push_back({std::move(ranks), c});
  }
}

std::vector<int64_t> SumGroups::kindsOf(size_t group,
                                        const Manifest &manifest) const {
  std::vector<int64_t> found;
  std::set<std::tuple<bool, bool, int, int64_t>> kinds;
  for (size_t c = 0; c < of.size(); ++c) {
    const Collective &it = manifest.collectives[c];
    if (of[c] == group &&
        kinds.insert({it.gathers, it.exchanges, it.dtype, it.elements}).second)
      found.push_back(int64_t(c));
  }
  return found;
}

/// Sends each other rank its part and receives one from it, as one group of
/// calls: NCCL carries all at the same time.
static int enqueueExchange(const Collective &it, int64_t rank, std::byte *slot,
                           Communicator communicator, Stream stream) {
  auto bytes = it.bytes(), ranks = int64_t(it.buckets.size());
  auto self = int64_t(it.placeOf(rank));
  int failed = nccl().groupStart.status();
  auto call = [&](int status) {
    if (status != ncclStillInProgress && !failed)
      failed = status;
  };
  for (int64_t peer = 0; peer < ranks && !failed; ++peer)
    if (peer != self) {
      call(nccl().send.status(slot + peer * bytes, size_t(bytes), ncclBytes,
                              int(peer), communicator, stream));
      call(nccl().receive.status(slot + (ranks + peer) * bytes, size_t(bytes),
                                 ncclBytes, int(peer), communicator, stream));
    }
  int status = nccl().groupEnd.status();
  return failed ? failed : status;
}

int enqueueSum(const Collective &collective, int64_t rank, Address bucket,
               Communicator communicator, Stream stream) {
  auto *place = reinterpret_cast<void *>(bucket);
  if (collective.exchanges)
    return enqueueExchange(collective, rank, static_cast<std::byte *>(place),
                           communicator, stream);
  if (collective.gathers) {
    int64_t bytes = collective.bytes();
    return nccl().allGather.status(
        static_cast<std::byte *>(place) +
            int64_t(collective.placeOf(rank)) * bytes,
        place, size_t(bytes), ncclBytes, communicator, stream);
  }
  return nccl().allReduce.status(place, place, size_t(collective.elements),
                                 elementOf(collective), ncclSum, communicator,
                                 stream);
}

const char *nameOfSum(const Collective &collective) {
  return collective.exchanges ? nccl().groupEnd.symbol
         : collective.gathers ? nccl().allGather.symbol
                              : nccl().allReduce.symbol;
}

} // namespace stagewright::runtime::cuda
