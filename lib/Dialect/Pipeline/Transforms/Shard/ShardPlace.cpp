//===- ShardPlace.cpp - where work of shards stands -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/Transforms/ShardPlace.h"

using namespace llvm;

namespace stagewright::pipeline {

static constexpr StringLiteral kLevel = ".t", kShard = ".s";

std::string layerName(StringRef scope, ShardPlace place) {
  return (scope + kLevel + Twine(place.level) + kShard + Twine(place.shard))
      .str();
}

ShardPlace shardPlaceOf(StringRef layer) {
  ShardPlace place;
  auto [before, shard] = layer.rsplit(kShard);
  (void)shard.getAsInteger(10, place.shard);
  (void)before.rsplit(kLevel).second.getAsInteger(10, place.level);
  return place;
}

} // namespace stagewright::pipeline
