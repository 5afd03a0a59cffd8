//===- FinishContractions.cpp - additions, rounding, epilogues of products ===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogues.h"
#include "RowLoops.h"
#include "UnrollLoops.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEFINISHCONTRACTIONS
#define GEN_PASS_DEF_DEVICEFINDEPILOGUES
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// `value` before any rounding and widening.
Value withoutRounding(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The scalar that the body of an operation reads through `use`, or null.
Value elementOf(OpOperand &use) {
  if (auto read = dyn_cast<tensor::ExtractOp>(use.getOwner()))
    return read.getResult();
  auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
  return reader && !reader.isDpsInit(&use)
             ? Value(reader.getMatchingBlockArgument(&use))
             : Value();
}

/// An addition `init + term` of two arrays, element by element. The term may be
/// rounded first.
struct Addition {
  linalg::GenericOp op;
  OpOperand *term = nullptr, *sum = nullptr;

  static std::optional<Addition> match(linalg::GenericOp op) {
    if (op->getNumResults() != 1 || op.getNumDpsInputs() != 1 ||
        op.getNumReductionLoops() != 0 || !op.hasPureTensorSemantics())
      return std::nullopt;
    Addition found{op, op.getDpsInputOperand(0), op.getDpsInitOperand(0)};
    auto add = op.getBody()
                   ->getTerminator()
                   ->getOperand(0)
                   .getDefiningOp<arith::AddFOp>();
    if (!add || found.term->get() == found.sum->get() ||
        !op.getMatchingIndexingMap(found.sum).isIdentity() ||
        !op.getMatchingIndexingMap(found.term).isPermutation() ||
        getElementTypeOrSelf(found.term->get()) != add.getType())
      return std::nullopt;
    Value own = op.getMatchingBlockArgument(found.sum);
    Value other = op.getMatchingBlockArgument(found.term);
    Value left = withoutRounding(add.getLhs()),
          right = withoutRounding(add.getRhs());
    bool adds = (add.getLhs() == own && right == other) ||
                (add.getRhs() == own && left == other);
    if (!adds)
      return std::nullopt;
    return found;
  }
};

/// Whether `op` is a sum that starts from zero.
bool sumsIntoZero(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || !bodies::isZero(op.getDpsInits()[0]))
    return false;
  if (isa<linalg::ContractOp>(op.getOperation()))
    return true;
  FailureOr<Combiner> combiner = matchCombiner(op, 0);
  return isa<linalg::GenericOp>(op.getOperation()) &&
         !bodies::isConvolution(op) && op.getNumReductionLoops() != 0 &&
         succeeded(combiner) && isa<arith::AddFOp>(combiner->op);
}

struct DeviceFinishContractionsPass
    : impl::DeviceFinishContractionsBase<DeviceFinishContractionsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!bodies::isBody(function))
      return;
    for (Block *block : launchBlocks(function)) {
      SmallVector<linalg::GenericOp> generics(
          block->getOps<linalg::GenericOp>());
      for (linalg::GenericOp op : generics)
        sumInPlace(op);
      SmallVector<linalg::ContractOp> products(
          block->getOps<linalg::ContractOp>());
      for (linalg::ContractOp op : products)
        numNarrow += narrow(op);
    }
  }

  /// Moves the sum that makes the term of an addition to the addition, and lets
  /// it start from the other operand instead of zero. The term is then no
  /// longer rounded to a narrower type.
  void sumInPlace(linalg::GenericOp op) {
    std::optional<Addition> add = Addition::match(op);
    if (!add || !add->term->get().hasOneUse())
      return;
    auto maker = add->term->get().getDefiningOp<linalg::LinalgOp>();
    if (!maker || !sumsIntoZero(maker) || maker->getNumResults() != 1)
      return;
    OpOperand *init = maker.getDpsInitOperand(0);
    AffineMap map = inversePermutation(op.getMatchingIndexingMap(add->term))
                        .compose(maker.getMatchingIndexingMap(init));
    maker->moveBefore(op);
    init->set(add->sum->get());
    maker->getResult(0).setType(
        cast<RankedTensorType>(add->sum->get().getType()));
    SmallVector<AffineMap> maps = maker.getIndexingMapsArray();
    maps.back() = map;
    maker->setAttr("indexing_maps",
                   Builder(op.getContext()).getAffineMapArrayAttr(maps));
    op->getResult(0).replaceAllUsesWith(maker->getResult(0));
    op->erase();
    ++numSums;
  }

  /// Stores a product of 16-bit operands in their type, if every reader rounds
  /// it to that type.
  static bool narrow(linalg::ContractOp op) {
    Type type = getElementTypeOrSelf(op.getInputs()[0]);
    Value result = op.getResult(0);
    if (getElementTypeOrSelf(result) == type || result.use_empty() ||
        type.getIntOrFloatBitWidth() == 8 ||
        getElementTypeOrSelf(op.getInputs()[1]) != type ||
        !bodies::isZero(op.getOutputs()[0]))
      return false;
    SmallVector<Operation *> casts;
    for (OpOperand &use : result.getUses()) {
      Value element = elementOf(use);
      if (!element)
        return false;
      for (Operation *user : element.getUsers()) {
        if (!isa<arith::TruncFOp>(user) || user->getResult(0).getType() != type)
          return false;
        casts.push_back(user);
      }
    }
    OpBuilder builder(op);
    auto narrow = cast<RankedTensorType>(result.getType()).clone(type);
    auto made = linalg::ContractOp::create(
        builder, op.getLoc(), TypeRange{narrow}, op.getInputs(),
        ValueRange{bodies::createZero(builder, op.getLoc(), narrow)},
        op.getIndexingMapsAttr());
    for (Operation *cast : casts) {
      cast->getResult(0).replaceAllUsesWith(cast->getOperand(0));
      cast->erase();
    }
    for (OpOperand &use : result.getUses())
      elementOf(use).setType(type);
    result.replaceAllUsesWith(made.getResult(0));
    op.erase();
    return true;
  }
};

struct DeviceFindEpiloguesPass
    : impl::DeviceFindEpiloguesBase<DeviceFindEpiloguesPass> {
  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    for (linalg::ContractOp op : launchedProducts(getOperation()))
      numEpilogues += bool(findEpilogue(op));
  }
};

} // namespace
} // namespace stagewright::device
