//===- Settle.cpp - levels are those of the forward -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include <map>

namespace stagewright::pipeline {

void settle(func::FuncOp function) {
  Block &block = function.getBody().front();
  llvm::DenseSet<Operation *> depended, forward;
  auto isForward = [&](unsigned result) {
    return resultRole(function, result) != Role::Gradient;
  };
  for (OpOperand &result : block.getTerminator()->getOpOperands())
    if (isForward(result.getOperandNumber()))
      depended.insert(result.get().getDefiningOp());
  // By stage and shard: names of levels and tails.
  std::map<std::pair<int64_t, int64_t>,
           std::map<std::pair<int64_t, bool>, StringAttr>>
      names;
  for (Operation &op : llvm::reverse(block)) {
    if (depended.contains(&op))
      op.removeAttr(PipelineDialect::kForward);
    else if (!forward.contains(&op) && !op.hasAttr(PipelineDialect::kForward))
      continue;
    auto &reads = depended.contains(&op) ? depended : forward;
    for (Value value : readsOf(op))
      reads.insert(value.getDefiningOp());
    forward.insert(&op);
    if (auto name = dyn_cast<NameLoc>(op.getLoc()))
      if (auto place = shardPlaceIn(name.getName()))
        names[{place->stage, place->shard}][{place->level, place->tail}] =
            name.getName();
  }
  for (Operation &op : block) {
    auto name = dyn_cast<NameLoc>(op.getLoc());
    auto place = name ? shardPlaceIn(name.getName()) : std::nullopt;
    if (!place || forward.contains(&op))
      continue;
    auto &levels = names[{place->stage, place->shard}];
    auto above = levels.upper_bound({place->level, place->tail});
    if (above != levels.begin())
      --above;
    else if (place->stage == 0 || above == levels.end())
      continue;
    op.setLoc(NameLoc::get(above->second, name.getChildLoc()));
  }
}

} // namespace stagewright::pipeline
