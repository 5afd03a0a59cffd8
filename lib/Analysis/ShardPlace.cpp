//===- ShardPlace.cpp - level and shard in the names of layers ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

using llvm::StringLiteral, llvm::StringRef, llvm::Twine;

static constexpr StringLiteral kLevel = ".t", kTail = "b", kStage = ".p",
                               kShard = ".s", kOperation = "/op";

std::string layerName(StringRef scope, ShardPlace place) {
  std::string stage =
      place.stage == 0 ? "" : (kStage + Twine(place.stage)).str();
  return (scope + kLevel + Twine(place.level) + (place.tail ? kTail : "") +
          stage + kShard + Twine(place.shard))
      .str();
}

std::string operationName(StringRef scope, ShardPlace place) {
  return layerName(scope, place) + kOperation.str();
}

static std::optional<ShardPlace> parse(StringRef layer) {
  ShardPlace place;
  place.again = layer.consume_back(PipelineDialect::kAgainSuffix);
  auto [before, shard] = layer.rsplit(kShard);
  auto [level, stage] = before.rsplit(kLevel).second.split(kStage);
  place.tail = level.consume_back(kTail);
  if (!stage.empty() && stage.getAsInteger(10, place.stage))
    return std::nullopt;
  if (shard.getAsInteger(10, place.shard) ||
      level.getAsInteger(10, place.level))
    return std::nullopt;
  return place;
}

std::optional<ShardPlace> shardPlaceIn(StringRef operation) {
  return operation.consume_back(kOperation) ? parse(operation) : std::nullopt;
}

StringRef scopeIn(StringRef operation) {
  return operation.rsplit(kShard).first.rsplit(kLevel).first;
}

ShardPlace shardPlaceOf(StringRef layer) {
  return parse(layer).value_or(ShardPlace());
}

bool isOfShard(StringRef layer) { return parse(layer).has_value(); }

bool hasShards(GraphOp graph) {
  return llvm::any_of(graph.getLayers(), [](Attribute name) {
    return isOfShard(cast<StringAttr>(name).getValue());
  });
}

} // namespace stagewright::pipeline
