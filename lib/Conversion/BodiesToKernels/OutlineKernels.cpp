//===- OutlineKernels.cpp - loop nests as functions, without duplicates ---===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "stagewright/Conversion/BodiesToKernels/KernelOutliner.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYOUTLINEKERNELS
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// The buffer of which `buffer` is a view. A place in the workspace counts as a
/// buffer: two places that are live at once are disjoint.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view.getOperation()))
      return buffer;
    buffer = view.getViewSource();
  }
  return buffer;
}

bool isKernel(Operation &op) {
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ParallelOp>(op))
    return op.getNumResults() == 0;
  return isa<linalg::LinalgOp, memref::CopyOp>(op) && op.getNumResults() == 0;
}

/// Writes a loop over the elements of arrays of one shape.
void writeEach(OpBuilder &builder, Location loc, ValueRange inputs,
               ValueRange targets,
               function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  int64_t rank = cast<MemRefType>(targets[0].getType()).getRank();
  SmallVector<AffineMap> maps(inputs.size() + targets.size(),
                              builder.getMultiDimIdentityMap(unsigned(rank)));
  SmallVector<utils::IteratorType> loops(size_t(rank),
                                         utils::IteratorType::parallel);
  linalg::GenericOp::create(builder, loc, TypeRange(), inputs, targets, maps,
                            loops, body);
}

/// Writes `op`, which zeroes, copies or adds slots of a rank program, as a loop
/// nest on the values of `mapping`.
void writeSlotOp(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  Location loc = op->getLoc();
  bool hasSource = isa<rank::CopyOp, rank::AddOp>(op);
  Value target = mapping.lookup(op->getOperand(hasSource ? 1 : 0));
  auto type = cast<MemRefType>(target.getType());
  Type element = type.getElementType();
  if (isa<rank::CopyOp>(op)) {
    linalg::makeMemRefCopyOp(builder, loc, mapping.lookup(op->getOperand(0)),
                             target);
    return;
  }
  if (isa<rank::ZeroOp>(op)) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    linalg::FillOp::create(builder, loc, zero, target);
    return;
  }
  writeEach(
      builder, loc, mapping.lookup(op->getOperand(0)), target,
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value sum =
            isa<FloatType>(element)
                ? arith::AddFOp::create(b, l, args[1], args[0]).getResult()
                : arith::AddIOp::create(b, l, args[1], args[0]);
        linalg::YieldOp::create(b, l, sum);
      });
}

/// Writes a combination with a scale.
void writeScaled(OpBuilder &builder, rank::CombineOp op, IRMapping &mapping) {
  Location loc = op.getLoc();
  Value target = mapping.lookup(op.getTarget());
  auto type = cast<FloatType>(getElementTypeOrSelf(target.getType()));
  Value count;
  if (op.getCombine() == rank::Combine::Mean) {
    count = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                       mapping.lookup(op.getCount()));
    count = arith::UIToFPOp::create(builder, loc, type, count);
  }
  Value scale = arith::ConstantOp::create(
      builder, loc, FloatAttr::get(type, op.getScale()->convertToDouble()));
  writeEach(builder, loc, {}, target,
            [&](OpBuilder &b, Location l, ValueRange args) {
              Value value = args[0];
              if (count)
                value = arith::DivFOp::create(b, l, value, count);
              value = arith::MulFOp::create(b, l, value, scale);
              linalg::YieldOp::create(b, l, value);
            });
}

/// Writes means of arrays of one type, or one combination with a scale, as one
/// loop nest.
void writeMeans(OpBuilder &builder, ArrayRef<Operation *> ops,
                IRMapping &mapping) {
  auto first = cast<rank::CombineOp>(ops[0]);
  if (first.getScale())
    return writeScaled(builder, first, mapping);
  Location loc = first.getLoc();
  SmallVector<Value> targets;
  for (Operation *op : ops)
    targets.push_back(mapping.lookup(op->getOperand(0)));
  Value count = mapping.lookup(cast<rank::CombineOp>(ops[0]).getCount());
  count = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
  count = arith::UIToFPOp::create(
      builder, loc, getElementTypeOrSelf(targets[0].getType()), count);
  writeEach(builder, loc, {}, targets,
            [&](OpBuilder &b, Location l, ValueRange args) {
              SmallVector<Value> means;
              for (Value sum : args)
                means.push_back(arith::DivFOp::create(b, l, sum, count));
              linalg::YieldOp::create(b, l, means);
            });
}

/// Max number of means that one kernel computes: its threads hold four elements
/// of each.
constexpr size_t kMeansTogether = 16;

/// The operations on slots, each group for one kernel. If `joins`, means of
/// vectors of one type in one block form groups. Means of matrices do not: the
/// runtime folds their division into products.
SmallVector<SmallVector<Operation *>> groupsOf(ArrayRef<Operation *> ops,
                                               bool joins) {
  SmallVector<SmallVector<Operation *>> groups;
  // By type, block and count: the group that another mean may join.
  DenseMap<std::tuple<Type, Block *, Value>, size_t> open;
  for (Operation *op : ops) {
    auto mean = dyn_cast<rank::CombineOp>(op);
    auto type =
        mean ? cast<MemRefType>(mean.getTarget().getType()) : MemRefType();
    if (joins && mean && !mean.getScale() && type.getRank() <= 1) {
      auto [place, isNew] = open.try_emplace(
          {type, op->getBlock(), mean.getCount()}, groups.size());
      if (!isNew && groups[place->second].size() < kMeansTogether) {
        groups[place->second].push_back(op);
        continue;
      }
      place->second = groups.size();
    }
    groups.push_back({op});
  }
  return groups;
}

/// Runs means over microbatches only if there are several microbatches: with
/// one, the buffer holds the mean already. Adjacent means share a branch.
void skipMeansOfOne(ArrayRef<Operation *> ops) {
  scf::IfOp branch;
  Value count;
  for (Operation *op : ops) {
    auto mean = dyn_cast<rank::CombineOp>(op);
    if (!mean || mean.getCombine() != rank::Combine::Mean || mean.getScale())
      continue;
    if (!branch || branch->getNextNode() != op || mean.getCount() != count) {
      OpBuilder builder(op);
      count = mean.getCount();
      Value one = arith::ConstantIndexOp::create(builder, op->getLoc(), 1);
      Value several = arith::CmpIOp::create(
          builder, op->getLoc(), arith::CmpIPredicate::ne, count, one);
      branch = scf::IfOp::create(builder, op->getLoc(), several);
    }
    op->moveBefore(branch.thenYield());
  }
}

struct BodyOutlineKernelsPass
    : impl::BodyOutlineKernelsBase<BodyOutlineKernelsPass> {
  using BodyOutlineKernelsBase::BodyOutlineKernelsBase;

  void runOnOperation() override {
    KernelOutliner outliner(getOperation());
    for (func::FuncOp body : outliner.bodies())
      for (Operation &op : llvm::make_early_inc_range(body.front()))
        if (isKernel(op))
          outline(&op, outliner);
    SmallVector<Operation *> slotOps;
    for (auto program : getOperation().getOps<rank::ProgramOp>())
      program.walk([&](Operation *op) {
        if (isa<rank::CopyOp, rank::AddOp, rank::CombineOp>(op) ||
            (isa<rank::ZeroOp>(op) && !fills))
          slotOps.push_back(op);
      });
    llvm::erase_if(slotOps, [](Operation *op) {
      auto combine = dyn_cast<rank::CombineOp>(op);
      if (!combine || combine.getCombine() != rank::Combine::Sum ||
          combine.getScale())
        return false;
      op->erase(); // the buffer holds the sum already
      return true;
    });
    skipMeansOfOne(slotOps);
    for (ArrayRef<Operation *> group : groupsOf(slotOps, /*joins=*/fills))
      outline(group, outliner);
  }

  void outline(ArrayRef<Operation *> ops, KernelOutliner &outliner) {
    Operation *op = ops.front();
    auto write = [&](OpBuilder &builder, IRMapping &mapping) {
      if (isa<rank::CombineOp>(op))
        return writeMeans(builder, ops, mapping);
      if (auto copy = dyn_cast<memref::CopyOp>(op))
        linalg::makeMemRefCopyOp(builder, op->getLoc(),
                                 mapping.lookup(copy.getSource()),
                                 mapping.lookup(copy.getTarget()));
      else if (isa<rank::RankDialect>(op->getDialect()))
        writeSlotOp(builder, op, mapping);
      else
        builder.clone(*op, mapping);
    };
    ++numOutlined;
    numUnique += outliner.outline({ops, {}, {}, write, promiseNoAlias});
    for (Operation *done : ops)
      done->erase();
  }

  /// An argument is `noalias` if no other argument is a view of its buffer.
  static void promiseNoAlias(func::FuncOp kernel, ArrayRef<Value> arguments) {
    DenseMap<Value, unsigned> views;
    for (Value argument : arguments)
      if (isa<MemRefType>(argument.getType()))
        ++views[rootOf(argument)];
    for (auto [i, argument] : llvm::enumerate(arguments))
      if (isa<MemRefType>(argument.getType()) && views[rootOf(argument)] == 1)
        kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          UnitAttr::get(kernel.getContext()));
  }
};

} // namespace
} // namespace stagewright::bodies
