//===- Addresses.cpp - addresses of buffers and messages ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

namespace stagewright::runtime::cuda {

Address Memory::slot(int64_t rank, int64_t buffer, int64_t m) const {
  const Layout &layout = layouts[rank];
  const Ring &ring = layout.buffers[buffer];
  return ring.onHost ? hosts[rank] + Address(ring.at(m) - layout.total)
                     : arenas[rank] + Address(ring.at(m));
}

Address Memory::bucket(const Manifest &manifest, int64_t collective,
                       int64_t rank) const {
  const Collective &sum = manifest.collective(collective);
  const Bucket &bucket = sum.buckets[sum.placeOf(rank)];
  return arenas[rank] +
         Address(layouts[rank].buffers[bucket.first].at(bucket.slot));
}

Address Memory::received(const Manifest &manifest, int64_t channel,
                         int64_t m) const {
  int64_t to = manifest.channels[channel].to;
  const Ring &ring = layouts[to].channels[channel];
  return arenas[to] + Address(ring.at(m));
}

Address Memory::sent(const Manifest &manifest, int64_t channel,
                     int64_t m) const {
  if (routes[channel] == Route::HandOff)
    return received(manifest, channel, m);
  const Ring &ring = layouts[manifest.channels[channel].to].channels[channel];
  return senders[channel] + Address(m % ring.slots * ring.stride);
}

} // namespace stagewright::runtime::cuda
