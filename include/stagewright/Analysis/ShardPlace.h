//===- ShardPlace.h - level and shard of an operation or layer --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipeline-shard encodes the level and the shard of an operation in a layer
// name in its location: `h0.attn.t3.s1` is shard 1 of level 3, and
// `h0.attn.t4b.s1` is shard 1 of the tail of level 4. If stages have different
// numbers of shards, `h1.t9.p1.s0` is shard 0 of level 9, a level of stage 1.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_SHARDPLACE_H
#define STAGEWRIGHT_ANALYSIS_SHARDPLACE_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace stagewright::pipeline {

class GraphOp;

struct ShardPlace {
  /// At least 0. Over one axis, values made at an even level are whole or
  /// scattered over the shards; those made at an odd level are split by hints.
  /// On a grid, a stage of a pipeline may end after an even level.
  int64_t level = 0;
  int64_t shard = 0;
  /// Whether it is in the tail of an even level: a pipeline may end a stage
  /// before it.
  bool tail = false;
  /// Whether pipeline-repeat-layers added the layer: it repeats the forward of
  /// the layer with the same scope, level, tail and shard.
  bool again = false;
  /// The stage of a pipeline whose stages have different numbers of shards;
  /// else 0.
  int64_t stage = 0;

  bool isWhole() const { return level % 2 == 0; }
};

/// layerName: the name of the layer of `scope` at `place`. operationName: the
/// name of an operation of this layer, for its location. shardPlaceIn: the
/// place in the name of an operation; none if it has none. scopeIn: the scope
/// in the name of an operation.
///@{
std::string layerName(llvm::StringRef scope, ShardPlace place);
std::string operationName(llvm::StringRef scope, ShardPlace place);
std::optional<ShardPlace> shardPlaceIn(llvm::StringRef operation);
llvm::StringRef scopeIn(llvm::StringRef operation);
///@}

/// The place in the name of a layer; level 0 and shard 0 if it has none.
ShardPlace shardPlaceOf(llvm::StringRef layer);
/// Whether the name of a layer has a place.
bool isOfShard(llvm::StringRef layer);
/// Whether a layer of `graph` is of a shard.
bool hasShards(GraphOp graph);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_SHARDPLACE_H
