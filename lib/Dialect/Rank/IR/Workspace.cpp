//===- Workspace.cpp - what lives in a workspace during a call ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/IR/Rank.h"

using namespace mlir;
using namespace stagewright::rank;

SmallVector<WorkspaceRange> stagewright::rank::getLiveWorkspace(CallOp call) {
  SmallVector<WorkspaceRange> ranges;
  auto isBeyond = [&](Operation *user) {
    return user != call && call->isBeforeInBlock(user);
  };
  for (ViewOp view : call->getBlock()->getOps<ViewOp>()) {
    bool made = false, needed = false;
    for (Operation *user : view.getValue().getUsers()) {
      Operation *here = call->getBlock()->findAncestorOpInBlock(*user);
      made |= here && !isBeyond(here);
      needed |= here && (here == call || isBeyond(here));
    }
    if (made && needed)
      ranges.push_back(
          {view.getOffset(),
           view.getOffset() + getSlotStride(view.getValue().getType())});
  }
  if (call.getWorkspace() && call.getWorkspaceBytes() > 0)
    ranges.push_back({call.getWorkspaceOffset(),
                      call.getWorkspaceOffset() + call.getWorkspaceBytes()});
  return ranges;
}

int64_t stagewright::rank::getLiveWorkspaceBytes(CallOp call) {
  int64_t bytes = 0;
  for (WorkspaceRange range : getLiveWorkspace(call))
    bytes += range.end - range.begin;
  return bytes;
}
