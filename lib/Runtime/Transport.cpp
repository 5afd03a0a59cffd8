//===- Transport.cpp - checks common to all transports --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transport.h"
#include "Artifact/Manifest.h"
#include "Error.h"

namespace stagewright::runtime {

void Transport::checkEnd(const Manifest &manifest, int64_t microbatches,
                         int64_t rank, int64_t channel, int64_t m,
                         bool sender) {
  if (channel < 0 || size_t(channel) >= manifest.channels.size())
    raise("channel ", channel, " does not exist");
  const Channel &description = manifest.channels[channel];
  int64_t owner = sender ? description.from : description.to;
  if (rank != owner)
    raise("channel '", description.name, "' belongs to rank ", owner,
          " at this end");
  if (int64_t count = description.count(microbatches); m < 0 || m >= count)
    raise(description.describe(m), " is not one of ", count);
}

} // namespace stagewright::runtime
