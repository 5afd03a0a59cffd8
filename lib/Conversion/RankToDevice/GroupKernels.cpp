//===- GroupKernels.cpp - which operations become one kernel --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogues.h"
#include "MergeElements.h"
#include "MergeSums.h"
#include "RowLoops.h"
#include "UnrollLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEGROUPKERNELS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// Min rows of a group: fewer leave most of a device idle.
constexpr int64_t kFewestRows = 64;
/// Min terms of a sum that a team of threads shares.
constexpr int64_t kFewestTurns = 32;

using bodies::RowGroup;

bool isSingle(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && !isa<linalg::ContractOp, linalg::FillOp>(op) &&
         !op->hasAttr(kEpilogue) && linalgOp.hasPureTensorSemantics();
}

struct DeviceGroupKernelsPass
    : impl::DeviceGroupKernelsBase<DeviceGroupKernelsPass> {
  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    int64_t number = 0;
    for (Block *block : launchBlocks(getOperation()))
      group(*block, number);
  }

  /// Groups the operations of a block, numbered from `number` on.
  void group(Block &block, int64_t &number) {
    // Fills without a reader would become kernels.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    SmallVector<SmallVector<Operation *>> groups;
    for (const RowGroup &group : bodies::findRowGroups(
             block, {/*values=*/1 << 20, /*scores=*/0, /*fewest=*/0},
             [](Operation *op) { return op->hasAttr(kEpilogue); }))
      if (auto members = membersOf(group); members.size() > 1)
        groups.push_back(std::move(members));
    numGroups += groups.size();
    for (ArrayRef<Operation *> group : groups)
      numGrouped += group.size();
    llvm::DenseSet<Operation *> grouped;
    for (ArrayRef<Operation *> group : groups)
      grouped.insert(group.begin(), group.end());
    SetVector<Operation *> singles;
    for (Operation &op : block)
      if (isSingle(&op) && !grouped.contains(&op))
        singles.insert(&op);
    mergeSums(singles);
    // An iteration of an unrolled loop has many small kernels.
    if (isa<scf::ForOp>(block.getParentOp()))
      mergeElements(singles);
    for (Operation *op : singles) {
      groups.push_back({op});
      markSum(cast<linalg::LinalgOp>(op));
    }
    for (SmallVector<Operation *> &group : groups)
      addFills(group);
    size_t kernels = groups.size();
    // A contraction comes right before its epilogue.
    for (auto op : block.getOps<linalg::GenericOp>())
      if (Value product = productOf(op))
        if (auto maker = product.getDefiningOp<linalg::ContractOp>())
          groups.push_back({maker, op});
    bodies::sortBlock(block, {groups});
    Builder builder(&getContext());
    for (ArrayRef<Operation *> group : ArrayRef(groups).take_front(kernels)) {
      for (Operation *op : group)
        op->setAttr(kGroup, builder.getI64IntegerAttr(number));
      ++number;
    }
  }

  /// Whether each result of the map is a constant or the index of a loop, and
  /// no two are the index of the same loop. Such a map may have more results
  /// than loops, for example to read the only row of an array.
  static bool isPlain(AffineMap map) {
    llvm::SmallDenseSet<unsigned> loops;
    return llvm::all_of(map.getResults(), [&](AffineExpr result) {
      auto loop = dyn_cast<AffineDimExpr>(result);
      return loop ? loops.insert(loop.getPosition()).second
                  : isa<AffineConstantExpr>(result);
    });
  }

  /// Marks a sum over the innermost loop: a team of threads makes each result.
  static void markSum(linalg::LinalgOp op) {
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    bool plain = llvm::all_of(op.getIndexingMapsArray(), isPlain);
    if (types.empty() || types.back() != utils::IteratorType::reduction ||
        !plain)
      return;
    SmallVector<unsigned> rows;
    for (auto [loop, type] : llvm::enumerate(types))
      if (type == utils::IteratorType::parallel)
        rows.push_back(unsigned(loop));
    FailureOr<RowLoops> loops = RowLoops::get(op, rows);
    if (succeeded(loops) && loops->turns() >= kFewestTurns)
      markRows(op, rows);
  }

  /// The members that share a kernel, marked with their rows. Leaves out sums
  /// over rows, which need threads of other rows (but see addRowSums), members
  /// of whose inner loops only some are reductions, reductions without a
  /// Combiner, and members that read what is left out.
  SmallVector<Operation *> membersOf(const RowGroup &group) {
    SmallVector<Operation *> members;
    if (group.numRows() < kFewestRows)
      return members;
    llvm::DenseSet<Operation *> out;
    for (const bodies::RowMember &member : group.members) {
      Operation *op = member.op;
      SetVector<Value> reads(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), reads);
      bool fits = !member.sums && llvm::none_of(reads, [&](Value value) {
        return out.contains(value.getDefiningOp());
      }) && succeeded(RowLoops::get(member.op, member.loops));
      if (!fits) {
        out.insert(op);
        continue;
      }
      markRows(op, member.loops);
      members.push_back(op);
    }
    if (members.size() > 1)
      addRowSums(group, members);
    else
      for (Operation *op : members)
        op->removeAttr(kRows);
    return members;
  }

  /// Inserts the fill of each initial value before its member, cloned if
  /// shared.
  void addFills(SmallVector<Operation *> &group) {
    SmallVector<Operation *> members;
    for (Operation *op : group) {
      for (OpOperand &init : cast<linalg::LinalgOp>(op).getDpsInitsMutable()) {
        auto fill = init.get().getDefiningOp<linalg::FillOp>();
        if (!fill || fill->getBlock() != op->getBlock())
          continue;
        if (!fill->hasOneUse()) {
          OpBuilder builder(op);
          fill = cast<linalg::FillOp>(builder.clone(*fill));
          init.set(fill.getResult(0));
        }
        members.push_back(fill);
      }
      members.push_back(op);
    }
    group = std::move(members);
  }
};

} // namespace
} // namespace stagewright::device
