//===- UnrollLoops.cpp - iterations as kernels of their own ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnrollLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEMARKLOOPS
#define GEN_PASS_DEF_DEVICEUNROLLLOOPS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

static void collectBlocks(Block &block, SmallVector<Block *> &blocks) {
  blocks.push_back(&block);
  for (auto loop : block.getOps<scf::ForOp>())
    if (loop->hasAttr(kUnroll))
      collectBlocks(*loop.getBody(), blocks);
}

SmallVector<Block *> launchBlocks(func::FuncOp body) {
  SmallVector<Block *> blocks;
  collectBlocks(body.front(), blocks);
  return blocks;
}

SmallVector<linalg::ContractOp> launchedProducts(func::FuncOp body) {
  SmallVector<linalg::ContractOp> products;
  for (Block *block : launchBlocks(body))
    llvm::append_range(products, block->getOps<linalg::ContractOp>());
  return products;
}

namespace {

/// Number of points of an operation that one thread computes in about the time
/// that the launch of a kernel takes.
constexpr int64_t kFewPoints = 256;

/// Whether `op` looks up elements of an array that is computed in `loop`.
bool looksUp(linalg::LinalgOp op, scf::ForOp loop) {
  WalkResult walk = op->walk([&](tensor::ExtractOp read) {
    Operation *scope = read.getTensor().getParentBlock()->getParentOp();
    return loop->isAncestor(scope) ? WalkResult::interrupt()
                                   : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// Whether one kernel cannot run `loop` in parallel, and one thread would be
/// slow: an operation of an iteration has more than kFewPoints points, and such
/// an operation sums or looks up elements that the loop computes, or operations
/// have different numbers of points.
bool isSerial(scf::ForOp loop) {
  int64_t most = 0;
  bool crosses = false;
  loop->walk([&](linalg::LinalgOp op) {
    if (op.hasDynamicShape())
      return;
    int64_t points = bodies::pointsOf(op);
    crosses |= points > kFewPoints &&
               (op.getNumReductionLoops() > 0 || looksUp(op, loop));
    crosses |= most > 1 && points > 1 && points != most;
    most = std::max(most, points);
  });
  return most > kFewPoints && crosses;
}

struct DeviceMarkLoopsPass : impl::DeviceMarkLoopsBase<DeviceMarkLoopsPass> {
  using DeviceMarkLoopsBase::DeviceMarkLoopsBase;

  void runOnOperation() override {
    if (bodies::isBody(getOperation()))
      mark(getOperation().front(), 1);
  }

  /// Marks loops of `block`, which exists in `copies` copies after outer loops
  /// are unrolled.
  void mark(Block &block, int64_t copies) {
    for (auto loop : block.getOps<scf::ForOp>()) {
      if (!isSerial(loop))
        continue;
      int64_t operations = 0;
      loop->walk([&](Operation *) { ++operations; });
      std::optional<APInt> trips = loop.getStaticTripCount();
      uint64_t most = uint64_t(maxOperations / copies / operations);
      if (!trips || trips->ugt(most)) {
        loop.emitWarning("one thread of the GPU runs this loop, which is slow");
        continue;
      }
      loop->setAttr(kUnroll, UnitAttr::get(&getContext()));
      ++numMarked;
      auto count = int64_t(trips->getZExtValue());
      mark(*loop.getBody(), copies * std::max<int64_t>(count, 1));
    }
  }
};

/// Unrolls `loop`. In each iteration groups of operations, which become
/// kernels, have numbers of their own, from `number` on.
LogicalResult unroll(scf::ForOp loop, int64_t &number) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips)
    return failure();
  DenseMap<int64_t, int64_t> groups; // of this iteration
  uint64_t iteration = 0;
  auto renumber = [&](unsigned at, Operation *op, OpBuilder builder) {
    auto group = op->getAttrOfType<IntegerAttr>(kGroup);
    if (!group)
      return;
    if (at != iteration)
      groups.clear();
    iteration = at;
    auto [place, isNew] = groups.try_emplace(group.getInt(), number);
    number += isNew;
    op->setAttr(kGroup, builder.getI64IntegerAttr(place->second));
  };
  return loopUnrollByFactor(loop, trips->getZExtValue(), renumber);
}

struct DeviceUnrollLoopsPass
    : impl::DeviceUnrollLoopsBase<DeviceUnrollLoopsPass> {
  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    int64_t number = 0;
    getOperation().walk([&](Operation *op) {
      if (auto group = op->getAttrOfType<IntegerAttr>(kGroup))
        number = std::max(number, group.getInt() + 1);
    });
    // Inner loops first: they are smaller.
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(kUnroll))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      loop->removeAttr(kUnroll);
      if (succeeded(unroll(loop, number)))
        ++numUnrolled;
    }
  }
};

} // namespace
} // namespace stagewright::device
