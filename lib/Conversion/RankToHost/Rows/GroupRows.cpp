//===- GroupRows.cpp - operations over the same rows in one loop ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupRows.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTGROUPROWS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

/// Whether `op` updates an argument of the function or loop whose body is
/// `block`. Then it needs no new buffer, and the values that it reads can be
/// freed after it.
bool onlyAddsToArgument(Operation *op, Block &block) {
  auto styled = dyn_cast<DestinationStyleOpInterface>(op);
  if (!styled || styled.getNumDpsInits() != 1)
    return false;
  Value init = styled.getDpsInits()[0];
  while (Operation *maker = init.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(maker))
      return false;
    init = maker->getOperand(0);
  }
  return init.getParentRegion()->getParentOp() == block.getParentOp();
}

/// Sorts a block with row loops.
void sortRows(Block &block) {
  auto isRowLoop = [](Operation *op) {
    return isa<scf::ForOp>(op) && op->hasAttr(bodies::kParallel);
  };
  auto adds = [&](Operation *op) { return onlyAddsToArgument(op, block); };
  bodies::sortBlock(block, {{}, /*late=*/isRowLoop, /*early=*/adds});
}

struct HostGroupRowsPass : impl::HostGroupRowsBase<HostGroupRowsPass> {
  using HostGroupRowsBase::HostGroupRowsBase;

  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      if (!isa<linalg::LinalgOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    IRRewriter rewriter(&getContext());
    BlockLimits limits{blockBytes, scoreBytes};
    for (Block *block : blocks) {
      SmallVector<RowGroup> groups = bodies::findRowGroups(*block, limits);
      for (const RowGroup &group : groups) {
        numGroups += 1;
        numGrouped += group.members.size();
        writeRowLoop(group, limits, rewriter);
      }
      if (groups.empty())
        continue;
      // Dead fills would still fill whole arrays.
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (isOpTriviallyDead(&op))
          rewriter.eraseOp(&op);
      sortRows(*block);
    }
  }
};

} // namespace
} // namespace stagewright::host
