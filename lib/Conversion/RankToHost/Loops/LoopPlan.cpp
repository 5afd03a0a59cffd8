//===- LoopPlan.cpp - which loop becomes vectors, and how wide ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/bit.h"

namespace stagewright::host {

/// Approximate number of instructions of an elementary function.
constexpr int64_t kFunctionCost = 20;

SmallVector<Piece> LoopPlan::rest(const LoopSpace &space) const {
  SmallVector<Piece> pieces;
  if (vector < 0)
    return {{0, 1}};
  int64_t at = wholeTurns(space), end = space.extents[vector];
  for (int64_t lanes = width; at < end; lanes /= 2)
    for (; at + lanes <= end; at += lanes)
      pieces.push_back({at, lanes});
  return pieces;
}

/// The operation that combines into result `index`, if partial results can be
/// computed independently and combined at the end; else null.
static Operation *findCombiner(LoopSpace &space, unsigned index) {
  Block &body = space.body();
  BlockArgument sum = body.getArgument(space.op.getNumDpsInputs() + index);
  Operation *op = body.getTerminator()->getOperand(index).getDefiningOp();
  if (!op || op->getNumOperands() != 2 || !sum.hasOneUse() ||
      *sum.user_begin() != op || op->getOperand(0) == op->getOperand(1) ||
      !op->hasOneUse())
    return nullptr;
  return isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::MulIOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)
             ? op
             : nullptr;
}

static bool isCounting(const LoopSpace &space, linalg::IndexOp op, int loop) {
  return space.counter[op.getDim()] == loop;
}

/// The operations of the body whose values vary along `loop`.
static llvm::DenseSet<Operation *> findVarying(LoopSpace &space, int loop) {
  llvm::DenseSet<Operation *> varying;
  unsigned inputs = space.op.getNumDpsInputs();
  auto varies = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != &space.body())
        return false;
      unsigned number = argument.getArgNumber();
      return space.accesses[number].steps[loop] != 0 || number >= inputs;
    }
    return varying.contains(value.getDefiningOp());
  };
  for (Operation &op : space.body()) {
    if (auto number = dyn_cast<linalg::IndexOp>(op)) {
      if (isCounting(space, number, loop))
        varying.insert(&op);
      continue;
    }
    if (isa<memref::LoadOp>(op)) {
      Access &access = space.loads[&op];
      if (access.steps[loop] != 0 ||
          llvm::any_of(access.computed,
                       [&](auto &index) { return varies(index.first); }))
        varying.insert(&op);
      continue;
    }
    if (llvm::any_of(op.getOperands(), varies))
      varying.insert(&op);
  }
  return varying;
}

/// Cost of an element if `loop` becomes vectors of at most `width` lanes: a
/// strided access moves a cache line for each element and takes a shuffle, and
/// the partial results of a reduction are combined at the end.
static double costOf(LoopSpace &space, int loop, int64_t width) {
  int64_t lanes =
      std::min<int64_t>(width, llvm::bit_floor<uint64_t>(space.extents[loop]));
  double cost = 0;
  auto add = [&](const Access &access, bool store) {
    int64_t step = access.isBuffer() ? access.steps[loop] : 0;
    if (step == 1)
      cost += 1.0 / lanes;
    else if (step != 0)
      cost += store ? 4 : 3;
  };
  for (auto [i, access] : llvm::enumerate(space.accesses))
    add(access, int(i) >= space.op.getNumDpsInputs());
  llvm::DenseSet<Operation *> varying = findVarying(space, loop);
  for (auto &[op, access] : space.loads)
    if (varying.contains(op))
      add(access, false);
  cost += 0.5 * varying.size() / lanes;
  if (space.reduced[loop])
    cost += 8.0 / space.extents[loop];
  return cost;
}

/// Number of vectors of partial sums of a sum along the vector loop. The order
/// of the additions depends only on length and type, not on what else the loop
/// computes: a backward that recomputes a value of the forward must get the
/// same bits.
constexpr int64_t kPartsOfSum = 4;

/// Bits of the widest element in vectors. For a reduction along the vector
/// loop, only the elements of its results count.
static unsigned widestElement(LoopSpace &space, const LoopPlan &plan) {
  if (plan.isHorizontal(space)) {
    unsigned own = 0;
    for (unsigned index : plan.carried)
      own = std::max(own, space.accesses[space.op.getNumDpsInputs() + index]
                              .element.getIntOrFloatBitWidth());
    if (own > 0)
      return std::max(own, 8u);
  }
  unsigned widest = 8;
  auto count = [&](Type type) {
    if (type.isIntOrFloat())
      widest = std::max(widest, type.getIntOrFloatBitWidth());
  };
  for (Access &access : space.accesses)
    if (access.isBuffer() && access.steps[plan.vector] != 0)
      count(access.element);
  for (Operation *op : plan.varying)
    for (Type type : op->getResultTypes())
      count(type);
  return widest;
}

static int64_t countInstructions(const LoopPlan &plan) {
  int64_t count = 0;
  for (Operation *op : plan.varying)
    count +=
        isa<math::MathDialect>(op->getDialect()) &&
                !isa<math::AbsFOp, math::SqrtOp, math::FmaOp, math::CopySignOp>(
                    op)
            ? kFunctionCost
            : 1;
  return count;
}

/// Whether every operation of the body is a load or has a vector form.
static bool hasVectorForm(LoopSpace &space) {
  for (Operation &op : space.body().without_terminator())
    if (!isa<linalg::IndexOp, memref::LoadOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>() &&
        !OpTrait::hasElementwiseMappableTraits(&op))
      return false;
  return true;
}

FailureOr<LoopPlan> LoopPlan::get(LoopSpace &space, unsigned vectorBits) {
  LoopPlan plan;
  if (!hasVectorForm(space))
    return failure();
  double least = 0;
  for (int loop = space.numLoops(); loop-- > 0;) {
    double cost = costOf(space, loop, vectorBits / 32);
    if (plan.vector < 0 || cost < least) {
      plan.vector = loop;
      least = cost;
    }
  }
  for (unsigned loop = 0; loop < space.numLoops(); ++loop)
    if (int(loop) != plan.vector)
      (space.reduced[loop] ? plan.reductions : plan.outer).push_back(loop);

  unsigned inputs = space.op.getNumDpsInputs();
  bool combines = true;
  for (auto [i, access] :
       llvm::enumerate(ArrayRef(space.accesses).drop_front(inputs))) {
    bool moves = false, stays = false;
    for (unsigned loop = 0; loop < space.numLoops(); ++loop) {
      if (space.reduced[loop])
        (access.steps[loop] ? moves : stays) = true;
      else if (access.steps[loop] == 0)
        return failure(); // written more than once
    }
    if (moves && stays)
      return failure();
    if (moves)
      continue;
    plan.carried.push_back(i);
    plan.combiners.push_back(findCombiner(space, i));
    combines &= plan.combiners.back() != nullptr;
  }
  if (plan.vector < 0)
    return plan;
  plan.varying = findVarying(space, plan.vector);
  if (plan.isHorizontal(space) && !combines) {
    plan.combiners.clear();
    return plan; // scalar, in sequence
  }
  int64_t extent = space.extents[plan.vector];
  plan.width = std::min<int64_t>(vectorBits / widestElement(space, plan),
                                 llvm::bit_floor<uint64_t>(extent));
  int64_t instructions = countInstructions(plan);
  plan.unroll = plan.isHorizontal(space)   ? kPartsOfSum
                : !plan.reductions.empty() ? (instructions <= 12 ? 4 : 2)
                                           : (instructions <= 6    ? 4
                                              : instructions <= 16 ? 2
                                                                   : 1);
  plan.unroll =
      std::max<int64_t>(std::min(plan.unroll, extent / plan.width), 1);
  return plan;
}

} // namespace stagewright::host
