//===- FindTriangles.cpp - find triangular contractions -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Triangle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYFINDTRIANGLES
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

/// Width of a box along the loop that is cut: that of the widest panel of the
/// runtime's matrix products (Runtime/Products/MultiplyBlock.h).
static constexpr int64_t kBox = 32;

/// The two loops of a triangle and their extents when they were found.
static constexpr StringLiteral kTriangle = "host.triangle";

std::optional<std::array<int64_t, 2>> triangleOf(linalg::ContractOp op) {
  auto hint = op->getAttrOfType<DenseI64ArrayAttr>(kTriangle);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto holds = [&](int64_t loop, int64_t extent) {
    return loop >= 0 && loop < int64_t(ranges.size()) && ranges[loop] == extent;
  };
  if (!hint || hint.size() != 4 || !holds(hint[0], hint[2]) ||
      !holds(hint[1], hint[3]) || hint[2] != hint[3] || hint[0] == hint[1])
    return std::nullopt;
  return {{hint[0], hint[1]}};
}

SmallVector<LoopBox> boxesOf(rank::ContractOp op) {
  LoopBox all;
  all.extents = op.getExtents();
  all.begins.assign(all.extents.size(), 0);
  std::optional<ArrayRef<int64_t>> triangle = op.getTriangle();
  if (!triangle)
    return {all};
  int64_t upper = (*triangle)[0], lower = (*triangle)[1];
  // Cut along a parallel loop, so that boxes write different results.
  bool cutLower = op.getMaps()[2].isFunctionOfDim(unsigned(lower));
  int64_t cut = cutLower ? lower : upper, other = cutLower ? upper : lower;
  SmallVector<LoopBox> boxes;
  for (int64_t begin = 0; begin < all.extents[cut]; begin += kBox) {
    LoopBox box = all;
    int64_t end = std::min(begin + kBox, all.extents[cut]);
    box.begins[cut] = begin;
    box.extents[cut] = end - begin;
    if (cutLower) {
      box.begins[other] = std::min(begin, all.extents[other] - 1);
      box.extents[other] -= box.begins[other];
    } else {
      box.extents[other] = std::min(end, all.extents[other]);
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

namespace {

/// Two dimensions of a tensor, or two loops. Elements whose index in `upper` is
/// less than that in `lower` are not read, or are zero.
struct Mask {
  unsigned upper, lower;
  bool operator==(const Mask &other) const {
    return upper == other.upper && lower == other.lower;
  }
};

/// If `condition` compares the indices of two loops: these, in such an order
/// that it is true only if the first index is not less than the second.
std::optional<Mask> matchComparison(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  auto loopOf = [](Value value) {
    unsigned bits = 64; // Of the narrowest integer on the way.
    while (auto cast = value.getDefiningOp<arith::IndexCastOp>()) {
      if (auto type = dyn_cast<IntegerType>(value.getType()))
        bits = std::min(bits, type.getWidth());
      value = cast.getIn();
    }
    auto index = value.getDefiningOp<linalg::IndexOp>();
    if (!index)
      return -1;
    int64_t extent = index->getParentOfType<linalg::LinalgOp>()
                         .getStaticLoopRanges()[index.getDim()];
    bool wraps = bits < 64 && (ShapedType::isDynamic(extent) ||
                               !llvm::isIntN(bits, extent - 1));
    return wraps ? -1 : int(index.getDim());
  };
  int a = loopOf(compare.getLhs()), b = loopOf(compare.getRhs());
  if (a < 0 || b < 0 || a == b)
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case Predicate::sge:
  case Predicate::sgt:
  case Predicate::uge:
  case Predicate::ugt:
    return Mask{unsigned(a), unsigned(b)};
  case Predicate::sle:
  case Predicate::slt:
  case Predicate::ule:
  case Predicate::ult:
    return Mask{unsigned(b), unsigned(a)};
  default:
    return std::nullopt;
  }
}

/// The two loops whose comparison decides whether `value` is read: every path
/// from `value` to what its operation yields has a select on it. Nothing if a
/// path has no such select, or if paths compare different loops.
std::optional<Mask> whereRead(Value value) {
  std::optional<Mask> found;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    std::optional<Mask> here;
    auto select = dyn_cast<arith::SelectOp>(user);
    if (select && use.getOperandNumber() == 1 &&
        select.getFalseValue() != value)
      here = matchComparison(select.getCondition());
    if (!here && user->getNumRegions() == 0 && isMemoryEffectFree(user) &&
        user->getNumResults() == 1)
      here = whereRead(user->getResult(0));
    if (!here || (found && !(*found == *here)))
      return std::nullopt;
    found = here;
  }
  return found;
}

/// Two loops of the operation that contains `value`, such that `value` is zero
/// if the index of the first is less than that of the second.
std::optional<Mask> whereZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return matchPattern(select.getFalseValue(), m_AnyZeroFloat())
               ? matchComparison(select.getCondition())
               : std::nullopt;
  if (isa<arith::NegFOp>(op))
    return whereZero(op->getOperand(0));
  // Zero times, or divided by, a finite constant other than zero is zero.
  FloatAttr factor;
  if (isa<arith::MulFOp, arith::DivFOp>(op) &&
      matchPattern(op->getOperand(1), m_Constant(&factor)) &&
      factor.getValue().isFiniteNonZero())
    return whereZero(op->getOperand(0));
  return std::nullopt;
}

/// The dimensions of a tensor that the two loops of `mask` index.
std::optional<Mask> dimensionsOf(std::optional<Mask> mask, AffineMap map) {
  if (!mask || !map.isProjectedPermutation())
    return std::nullopt;
  auto upper =
      map.getResultPosition(getAffineDimExpr(mask->upper, map.getContext()));
  auto lower =
      map.getResultPosition(getAffineDimExpr(mask->lower, map.getContext()));
  if (!upper || !lower)
    return std::nullopt;
  return Mask{*upper, *lower};
}

/// The two dimensions of `result` whose upper triangle no user reads.
std::optional<Mask> maskOfReaders(Value result) {
  std::optional<Mask> found;
  for (OpOperand &use : result.getUses()) {
    auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!reader || !reader.isDpsInput(&use))
      return std::nullopt;
    auto here = dimensionsOf(whereRead(reader.getMatchingBlockArgument(&use)),
                             reader.getMatchingIndexingMap(&use));
    if (!here || (found && !(*found == *here)))
      return std::nullopt;
    found = here;
  }
  return found;
}

/// The two dimensions of `operand` whose upper triangle is zero.
std::optional<Mask> maskOfMaker(Value operand) {
  auto maker = operand.getDefiningOp<linalg::GenericOp>();
  if (!maker)
    return std::nullopt;
  auto result = cast<OpResult>(operand);
  Value yielded =
      maker.getBody()->getTerminator()->getOperand(result.getResultNumber());
  return dimensionsOf(whereZero(yielded),
                      maker.getIndexingMapMatchingResult(result));
}

struct BodyFindTrianglesPass
    : impl::BodyFindTrianglesBase<BodyFindTrianglesPass> {
  using BodyFindTrianglesBase::BodyFindTrianglesBase;

  void runOnOperation() override {
    if (isBody(getOperation()))
      getOperation().walk([&](linalg::ContractOp op) { mark(op); });
  }

  void mark(linalg::ContractOp op) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto loopsOf = [&](std::optional<Mask> mask, AffineMap map) {
      return Mask{map.getDimPosition(mask->upper),
                  map.getDimPosition(mask->lower)};
    };
    std::optional<Mask> loops;
    if (auto mask = maskOfReaders(op->getResult(0));
        mask && isZero(op.getOutputs()[0]))
      loops = loopsOf(mask, maps[2]);
    for (int i = 0; !loops && i < 2; ++i)
      if (auto mask = maskOfMaker(op->getOperand(i)))
        loops = loopsOf(mask, maps[i]);
    if (!loops)
      return;
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    if (kinds[loops->upper] != utils::IteratorType::parallel &&
        kinds[loops->lower] != utils::IteratorType::parallel)
      return;
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    // With unequal extents, results without terms would not be written.
    if (ranges[loops->upper] != ranges[loops->lower] ||
        ranges[loops->upper] < 2 * kBox)
      return;
    op->setAttr(kTriangle, DenseI64ArrayAttr::get(
                               &getContext(),
                               {int64_t(loops->upper), int64_t(loops->lower),
                                ranges[loops->upper], ranges[loops->lower]}));
    ++numMarked;
  }
};

} // namespace
} // namespace stagewright::bodies
