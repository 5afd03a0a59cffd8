//===- Workspace.cpp - live ranges of a workspace in each call ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/IR/Rank.h"
#include <numeric>
#include <set>

namespace stagewright::rank {

LiveWorkspace::LiveWorkspace(Block &block) {
  struct Use {
    WorkspaceRange range;
    int64_t first, last; ///< Operations of the block, by number.
  };
  llvm::DenseMap<Operation *, int64_t> numbers;
  for (Operation &op : block)
    numbers[&op] = int64_t(numbers.size());
  std::vector<Use> uses;
  for (ViewOp view : block.getOps<ViewOp>()) {
    int64_t first = int64_t(numbers.size()), last = -1;
    for (Operation *user : view.getValue().getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user)) {
        first = std::min(first, numbers[here]);
        last = std::max(last, numbers[here]);
      }
    auto begin = int64_t(view.getOffset());
    if (last >= 0)
      uses.push_back({{begin, begin + getSlotStride(view.getValue().getType())},
                      first,
                      last});
  }
  std::vector<size_t> order(uses.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(
      order, [&](size_t a, size_t b) { return uses[a].first < uses[b].first; });
  std::set<size_t> alive; // In the order of the views.
  size_t next = 0;
  for (CallOp call : block.getOps<CallOp>()) {
    int64_t number = numbers[call];
    for (; next < order.size() && uses[order[next]].first <= number; ++next)
      alive.insert(order[next]);
    SmallVector<WorkspaceRange> &ranges = ofCalls[call];
    for (auto entry = alive.begin(); entry != alive.end();) {
      if (uses[*entry].last < number) {
        entry = alive.erase(entry);
        continue;
      }
      ranges.push_back(uses[*entry++].range);
    }
    auto own = int64_t(call.getWorkspaceOffset());
    if (call.getWorkspace() && call.getWorkspaceBytes() > 0)
      ranges.push_back({own, own + int64_t(call.getWorkspaceBytes())});
  }
}

int64_t LiveWorkspace::bytesOf(CallOp call) const {
  int64_t bytes = 0;
  for (WorkspaceRange range : of(call))
    bytes += range.end - range.begin;
  return bytes;
}

const LiveWorkspace &LiveWorkspaces::of(Block *block) {
  std::unique_ptr<LiveWorkspace> &known = ofBlocks[block];
  if (!known)
    known = std::make_unique<LiveWorkspace>(*block);
  return *known;
}

} // namespace stagewright::rank
