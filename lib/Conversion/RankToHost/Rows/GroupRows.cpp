//===- GroupRows.cpp - operations over the same rows in one loop ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupRows.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTGROUPROWS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

/// Sorts the operations of a block so that each follows what it reads. A row
/// loop comes just before its first reader. An operation that only adds to an
/// argument of the function comes as early as possible: it makes no new value,
/// and the values that it reads can be freed.
class Order {
public:
  explicit Order(Block &block) : block(block) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      for (Operation *read : bodies::readsOf(op))
        readers[read].push_back(op);
    for (Operation *op : ops)
      if (!isa<scf::ForOp>(op) || !op->hasAttr(bodies::kParallel))
        place(op);
    for (Operation *op : ops)
      place(op);
  }

private:
  bool onlyAddsToArgument(Operation *op) {
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

  /// Places what `op` reads, `op`, and then those that only add to an argument
  /// and waited only for `op`. Recurses as deep as a chain of unplaced
  /// operations.
  void place(Operation *op) {
    if (!reached.insert(op).second)
      return;
    for (Operation *read : bodies::readsOf(op))
      place(read);
    op->moveBefore(block.getTerminator());
    placed.insert(op);
    for (Operation *reader : readers.lookup(op))
      if (onlyAddsToArgument(reader) &&
          llvm::all_of(bodies::readsOf(reader),
                       [&](Operation *read) { return placed.contains(read); }))
        place(reader);
  }

  Block &block;
  DenseMap<Operation *, SmallVector<Operation *>> readers;
  llvm::DenseSet<Operation *> reached, placed;
};

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
      Order(*block).run();
    }
  }
};

} // namespace
} // namespace stagewright::host
