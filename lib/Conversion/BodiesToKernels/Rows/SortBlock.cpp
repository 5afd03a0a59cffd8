//===- SortBlock.cpp - orders the operations of a block -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/BodiesToKernels/RowGroups.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {

SmallVector<Operation *> readsOf(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  SetVector<Operation *> makers;
  for (Value value : values)
    if (Operation *maker = value.getDefiningOp();
        maker && maker->getBlock() == op->getBlock())
      makers.insert(maker);
  return makers.takeVector();
}

namespace {

class Sorter {
public:
  Sorter(Block &block, const BlockOrder &order) : block(block), order(order) {
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (auto [i, group] : llvm::enumerate(order.groups))
      for (Operation *op : group)
        groupOf[op] = i;
    if (order.early)
      for (Operation *op : ops)
        for (Operation *read : readsOf(op))
          readers[read].push_back(op);
  }

  void run() {
    for (Operation *op : ops)
      if (unitOf(op).back() == op && !(order.late && order.late(op)))
        place(op);
    for (Operation *op : ops)
      place(op);
  }

private:
  /// The group of `op`, or `op` alone.
  SmallVector<Operation *> unitOf(Operation *op) const {
    auto group = groupOf.find(op);
    return group == groupOf.end() ? SmallVector<Operation *>{op}
                                  : order.groups[group->second];
  }

  /// Places what `op` and its group read, the group, and then early operations
  /// that waited only for it. The recursion is as deep as the longest chain of
  /// unplaced operations.
  void place(Operation *op) {
    if (reached.contains(op))
      return;
    SmallVector<Operation *> unit = unitOf(op);
    reached.insert(unit.begin(), unit.end());
    for (Operation *member : unit)
      for (Operation *read : readsOf(member))
        place(read);
    for (Operation *member : unit)
      member->moveBefore(block.getTerminator());
    placed.insert(unit.begin(), unit.end());
    for (Operation *member : unit)
      for (Operation *reader : readers.lookup(member))
        if (order.early(reader) &&
            llvm::all_of(readsOf(reader), [&](Operation *read) {
              return placed.contains(read);
            }))
          place(reader);
  }

  Block &block;
  const BlockOrder &order;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, size_t> groupOf;
  DenseMap<Operation *, SmallVector<Operation *>> readers;
  llvm::DenseSet<Operation *> reached, placed;
};

} // namespace

void sortBlock(Block &block, const BlockOrder &order) {
  Sorter(block, order).run();
}

} // namespace stagewright::bodies
