//===- Traffic.h - bytes that a rank sends ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAFFIC_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAFFIC_H

#include "Artifact/Manifest.h"

namespace stagewright::runtime {

/// Bytes that one rank sent in a step, counted message by message.
struct Traffic : sw_traffic {
  Traffic() : sw_traffic{} {}

  void add(const Channel &channel) {
    (channel.once ? once : microbatches) += channel.bytes;
  }
  void add(const Collective &collective) {
    if (collective.gathers)
      microbatches +=
          collective.bytes() * (int64_t(collective.buckets.size()) - 1);
    else
      sums += collective.bytes();
  }
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAFFIC_H
