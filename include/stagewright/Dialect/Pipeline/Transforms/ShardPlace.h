//===- ShardPlace.h - where work of shards stands ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipeline-shard says by a name of the layer which level and which shard the
// work of a location belongs to: `h0.attn.t3.s1`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_SHARDPLACE_H
#define STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_SHARDPLACE_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace stagewright::pipeline {

struct ShardPlace {
  /// From 0 on. What is made on an even level is whole or scattered, on an odd
  /// one split by hints.
  int64_t level = 0;
  int64_t shard = 0;

  bool isWhole() const { return level % 2 == 0; }
};

/// The name of an operation of the layer at `place`, as its location has it, in
/// the scope that its level is named by; and the place that such a name says,
/// nothing where it says none.
///@{
std::string operationName(llvm::StringRef scope, ShardPlace place);
std::optional<ShardPlace> shardPlaceIn(llvm::StringRef operation);
///@}

/// The place that the name of a layer says; the first where it says none.
ShardPlace shardPlaceOf(llvm::StringRef layer);
/// Whether it says one.
bool isOfShard(llvm::StringRef layer);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_TRANSFORMS_SHARDPLACE_H
