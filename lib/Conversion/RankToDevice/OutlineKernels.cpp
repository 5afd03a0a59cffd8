//===- OutlineKernels.cpp - a kernel for every group, equal ones shared ---===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alternatives.h"
#include "Attention/Library.h"
#include "Epilogues.h"
#include "LibraryOperands.h"
#include "LoopPoint.h"
#include "RowLoops.h"
#include "RowTeams.h"
#include "Scalars.h"
#include "SplitSums.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEOUTLINEKERNELS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// Whether `op` can be moved: it allocates, makes a view or computes an index.
bool isFree(Operation &op) {
  return isa<memref::AllocOp, ViewLikeOpInterface>(op) ||
         op.hasTrait<OpTrait::ConstantLike>() ||
         isa<arith::ArithDialect>(op.getDialect());
}

bool isKernel(Operation &op) {
  return op.getNumResults() == 0 &&
         (isa<linalg::LinalgOp, memref::CopyOp, scf::ForOp, scf::IfOp,
              scf::WhileOp>(op) ||
          (pipeline::Attention::get(&op) && !op.hasAttr(kLibrary)));
}

using Group = SmallVector<Operation *>;

/// The operations of a body by kernel, in order. Free operations between two of
/// one kernel are moved before it.
SmallVector<Group> collectGroups(Block &block) {
  SmallVector<Group> groups;
  std::optional<int64_t> open;
  SmallVector<Operation *> between;
  for (Operation &op : block) {
    auto number = op.getAttrOfType<IntegerAttr>(kGroup);
    if (number && open == number.getInt()) {
      for (Operation *free : between)
        free->moveBefore(groups.back().front());
      groups.back().push_back(&op);
      between.clear();
    } else if (isKernel(op)) {
      groups.push_back({&op});
      open = number ? std::optional(number.getInt()) : std::nullopt;
      between.clear();
    } else if (isFree(op)) {
      between.push_back(&op);
    } else {
      open.reset();
    }
  }
  return groups;
}

/// Whether a use only writes.
bool onlyWrites(OpOperand &use) {
  auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
  return op && op.isDpsInit(&use) &&
         op.getMatchingBlockArgument(&use).use_empty();
}

/// The allocations that a kernel of one operation writes and nothing reads.
/// Such an array was fused into a sum; only its shape is still needed, for the
/// number of iterations.
SetVector<Operation *> unreadIn(const Group &group) {
  SetVector<Operation *> unread;
  auto op = dyn_cast<linalg::GenericOp>(group.back());
  bool alone = op && !op->hasAttr(kRows) &&
               llvm::all_of(ArrayRef(group).drop_back(), [](Operation *before) {
                 return isa<linalg::FillOp>(before);
               });
  for (Value init : alone ? ValueRange(op.getDpsInits()) : ValueRange())
    if (auto buffer = init.getDefiningOp<memref::AllocOp>())
      if (llvm::all_of(buffer->getUses(), onlyWrites) &&
          llvm::all_of(buffer->getUsers(), [&](Operation *user) {
            return llvm::is_contained(group, user);
          }))
        unread.insert(buffer);
  return unread;
}

/// The allocations that only `group` uses and whose elements are read only by
/// the thread that made them.
SetVector<Operation *> keptIn(const Group &group) {
  DenseMap<Operation *, RowLoops> loops;
  for (Operation *op : group) {
    if (isa<linalg::FillOp>(op))
      continue;
    FailureOr<RowLoops> found = RowLoops::get(op);
    if (failed(found) || found->turns() > kLongestRow)
      return {};
    loops[op] = *found;
  }
  SetVector<Operation *> kept;
  SmallVector<Value> candidates;
  for (Operation *op : group)
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp<memref::AllocOp>())
        candidates.push_back(operand);
  for (Value buffer : candidates) {
    std::optional<SmallVector<int>> places;
    bool keeps = true;
    for (Operation *user : buffer.getUsers()) {
      keeps &= llvm::is_contained(group, user);
      if (!keeps || isa<linalg::FillOp>(user))
        continue;
      RowLoops &of = loops[user];
      for (OpOperand &operand : user->getOpOperands()) {
        if (operand.get() != buffer)
          continue;
        AffineMap map = of.op.getMatchingIndexingMap(&operand);
        Access access = of.accessOf(map);
        keeps &= access != Access::Other;
        SmallVector<int> here = of.placesOf(map);
        keeps &= !places || *places == here;
        places = here;
      }
    }
    if (keeps && places)
      kept.insert(buffer.getDefiningOp());
  }
  return kept;
}

/// Splits a group into kernels: a sum over its rows that cannot share its
/// kernel gets its own.
SmallVector<Group> kernelsOf(const Group &group) {
  FailureOr<RowLoops> loops = RowLoops::get(group.back());
  if (failed(loops) || !loops->sumsRows || dealSummedRows(group))
    return {group};
  linalg::LinalgOp sum = loops->op;
  sum->removeAttr(kRows);
  Group rows, own;
  for (Operation *op : group)
    (op == sum || fillsInitOf(op, sum) ? own : rows).push_back(op);
  if (rows.empty())
    return {own};
  return {rows, own};
}

/// Moves the arrays of a loop out of it, to the workspace, if they are too
/// large for shared memory. One array serves all iterations.
void takeLargeArrays(Block &body) {
  for (Operation &op : body) {
    if (!isKernel(op) || allocatedBytes(&op).value_or(0) <= kUsualShared)
      continue;
    SmallVector<memref::AllocOp> arrays;
    op.walk([&](memref::AllocOp array) { arrays.push_back(array); });
    for (memref::AllocOp array : arrays)
      array->moveBefore(&op);
  }
}

struct DeviceOutlineKernelsPass
    : impl::DeviceOutlineKernelsBase<DeviceOutlineKernelsPass> {
  void runOnOperation() override {
    bodies::KernelOutliner outliner(getOperation());
    for (func::FuncOp body : outliner.bodies()) {
      // The place of an operand in an unrolled loop is known now.
      for (Operation &op : body.front())
        if (isa<rank::ContractOp, rank::ConvolveOp>(op))
          (void)memref::foldMemRefCast(&op);
      includeEpilogues(body.front(), [&](Operation *op) {
        outlineAlternative(op, outliner);
      });
      makeLoops(body.front());
      copyLibraryOperands(body.front());
      keepScalars(body.front());
      takeLargeArrays(body.front());
      SmallVector<Group> groups;
      for (const Group &group : collectGroups(body.front()))
        llvm::append_range(groups, kernelsOf(group));
      for (const Group &group : groups) {
        int64_t parts = partsOf(group);
        if (parts == 1) {
          SetVector<Operation *> kept = keptIn(group);
          kept.set_union(unreadIn(group));
          outline(group, kept, {}, outliner);
          continue;
        }
        SplitSum split = splitSum(group, parts);
        SetVector<Operation *> kept = keptIn(split.parts);
        kept.insert_range(split.forms);
        outline(split.parts, kept, split.partial, outliner);
        outline(split.whole, keptIn(split.whole), {}, outliner);
      }
      if (failed(removeScalars(body.front())))
        return signalPassFailure();
    }
  }

  /// `more`: arguments of the kernel that its operations do not use.
  void outline(const Group &group, const SetVector<Operation *> &kept,
               ValueRange more, bodies::KernelOutliner &outliner) {
    auto write = [&](OpBuilder &builder, IRMapping &mapping) {
      for (Operation *op : group) {
        Operation *made = builder.clone(*op, mapping);
        made->removeAttr(kGroup);
        // Inner operations become loops too: copies of rows or of numbers in
        // the loop of a scatter, and products in a loop.
        made->walk(makeLoop);
      }
    };
    ++numOutlined;
    numKept += kept.size();
    numUnique += outliner.outline({group, kept, more, write, nullptr,
                                   /*readsScalars=*/true, kVectorBytes});
    for (Operation *op : llvm::reverse(group))
      op->erase();
    for (Operation *op : kept)
      op->erase();
  }
};

} // namespace
} // namespace stagewright::device
