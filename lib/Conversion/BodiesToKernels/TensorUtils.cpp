//===- TensorUtils.cpp - helpers for bodies on tensors --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::bodies {

bool isBody(func::FuncOp function) {
  return !function.isExternal() && function.isPrivate() &&
         !function->hasAttr("host.kernel");
}

bool isZero(Value value) {
  auto zero = [](Value v) {
    return matchPattern(v, m_AnyZeroFloat()) || matchPattern(v, m_Zero());
  };
  if (zero(value))
    return true;
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return zero(fill.getInputs()[0]);
  if (auto reshape = value.getDefiningOp<tensor::ExpandShapeOp>())
    return isZero(reshape.getSrc());
  if (auto reshape = value.getDefiningOp<tensor::CollapseShapeOp>())
    return isZero(reshape.getSrc());
  // A broadcast of zero, as torch-mlir emits it.
  Value source;
  if (AffineMap map = matchCopy(value, source))
    return zero(source) || (source != value && isZero(source));
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic->getNumResults() != 1 ||
      !llvm::hasSingleElement(*generic.getBody()))
    return false;
  return zero(
      cast<linalg::YieldOp>(generic.getBody()->getTerminator()).getOperand(0));
}

int64_t pointsOf(linalg::LinalgOp op) {
  return llvm::product_of(op.getStaticLoopRanges());
}

Value createZero(OpBuilder &builder, Location loc, RankedTensorType type) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

Value createElementwise(
    OpBuilder &builder, Location loc, Value value, Type type,
    function_ref<Value(OpBuilder &, Location, Value)> body) {
  auto from = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, from.getShape(), type);
  AffineMap identity = builder.getMultiDimIdentityMap(from.getRank());
  SmallVector<utils::IteratorType> iterators(from.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{from.clone(type)}, ValueRange{value},
             ValueRange{empty}, ArrayRef<AffineMap>{identity, identity},
             iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               linalg::YieldOp::create(b, l, body(b, l, args[0]));
             })
      .getResult(0);
}

Value createUpdate(OpBuilder &builder, Location loc, Value sum, Value addend) {
  auto type = cast<RankedTensorType>(sum.getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{type}, ValueRange{addend}, ValueRange{sum},
             ArrayRef<AffineMap>{identity, identity}, iterators,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value total;
               if (isa<FloatType>(type.getElementType()))
                 total = arith::AddFOp::create(b, l, args[1], args[0]);
               else
                 total = arith::AddIOp::create(b, l, args[1], args[0]);
               linalg::YieldOp::create(b, l, total);
             })
      .getResult(0);
}

Value matchAdd(Operation *op, Value sum) {
  auto other = [&](Value lhs, Value rhs) -> Value {
    return lhs == sum ? rhs : rhs == sum ? lhs : Value();
  };
  if (isa<arith::AddFOp, arith::AddIOp>(op))
    return other(op->getOperand(0), op->getOperand(1));
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic->getNumResults() != 1 ||
      generic.getNumReductionLoops() != 0 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  Block &body = *generic.getBody();
  Operation *add =
      cast<linalg::YieldOp>(body.getTerminator()).getOperand(0).getDefiningOp();
  if (!add || !isa<arith::AddFOp, arith::AddIOp>(add) || &body.front() != add)
    return {};
  auto outer = [&](Value element) -> Value {
    auto argument = dyn_cast<BlockArgument>(element);
    return argument && argument.getOwner() == &body
               ? generic->getOperand(argument.getArgNumber())
               : Value();
  };
  return other(outer(add->getOperand(0)), outer(add->getOperand(1)));
}

Operation *matchAddToInit(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return nullptr;
  BlockArgument init = op.getRegionOutputArgs()[0];
  if (!init.hasOneUse())
    return nullptr;
  Operation *add = *init.user_begin();
  return isa<arith::AddFOp, arith::AddIOp>(add) && add->hasOneUse() &&
                 op.getBlock()->getTerminator()->getOperand(0) ==
                     add->getResult(0)
             ? add
             : nullptr;
}

bool isSamePart(tensor::ExtractSliceOp read, tensor::InsertSliceOp write) {
  return isEqualConstantIntOrValueArray(read.getMixedOffsets(),
                                        write.getMixedOffsets()) &&
         isEqualConstantIntOrValueArray(read.getMixedSizes(),
                                        write.getMixedSizes()) &&
         isEqualConstantIntOrValueArray(read.getMixedStrides(),
                                        write.getMixedStrides());
}

OpOperand *findDestination(OpResult result) {
  Operation *op = result.getOwner();
  if (auto styled = dyn_cast<DestinationStyleOpInterface>(op))
    return styled.getTiedOpOperand(result);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return &insert.getDestMutable();
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return &insert.getDestMutable();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return &loop.getInitArgsMutable()[result.getResultNumber()];
  return nullptr;
}

AffineMap matchCopy(Value value, Value &source) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op->getNumResults() != 1 || op.getNumDpsInputs() != 1 ||
      op.getNumReductionLoops() != 0)
    return {};
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  if (yield.getOperand(0) != op.getBody()->getArgument(0) ||
      !llvm::hasSingleElement(*op.getBody()))
    return {};
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  AffineMap in = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  if (!out.isPermutation() ||
      !isa<RankedTensorType>(op.getDpsInputOperand(0)->get().getType()))
    return {};
  source = op.getDpsInputOperand(0)->get();
  return in.compose(inversePermutation(out));
}

/// Strips widening casts: `extf(extf(x))` is `x`.
static Value stripWidening(Value value) {
  while (auto cast = value.getDefiningOp<arith::ExtFOp>())
    value = cast.getIn();
  return value;
}

std::optional<std::pair<OpOperand *, OpOperand *>>
matchSumOfProducts(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumDpsInputs() < 1 ||
      op.getNumReductionLoops() == 0)
    return std::nullopt;
  Block &body = *op.getBody();
  auto yield = cast<linalg::YieldOp>(body.getTerminator());
  Value yielded = yield.getOperand(0);
  // Frameworks that accumulate a narrow result in f32 emit
  // truncf(extf(out) + ...).
  if (auto narrow = yielded.getDefiningOp<arith::TruncFOp>())
    yielded = narrow.getIn();
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  if (!add)
    return std::nullopt;
  BlockArgument out = body.getArgument(op.getNumDpsInputs());
  for (auto [sum, product] : {std::pair(add.getLhs(), add.getRhs()),
                              std::pair(add.getRhs(), add.getLhs())}) {
    auto mul = stripWidening(product).getDefiningOp<arith::MulFOp>();
    if (stripWidening(sum) != out || !mul)
      continue;
    auto lhs = dyn_cast<BlockArgument>(stripWidening(mul.getLhs()));
    auto rhs = dyn_cast<BlockArgument>(stripWidening(mul.getRhs()));
    if (!lhs || !rhs || lhs == out || rhs == out || lhs.getOwner() != &body ||
        rhs.getOwner() != &body)
      return std::nullopt;
    return std::pair(op.getDpsInputOperand(lhs.getArgNumber()),
                     op.getDpsInputOperand(rhs.getArgNumber()));
  }
  return std::nullopt;
}

void generalizeNamed(Operation *root, RewriterBase &rewriter,
                     function_ref<bool(Operation *)> wanted) {
  SmallVector<linalg::LinalgOp> named;
  root->walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op.getOperation()) && wanted(op) &&
        op.hasPureTensorSemantics())
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  }
}

bool isElementwise(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op->getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      !op.getIndexingMapMatchingResult(op->getResult(0)).isIdentity() ||
      !op.getRegionOutputArgs()[0].use_empty())
    return false;
  for (OpOperand *input : op.getDpsInputOperands())
    if (!op.getMatchingIndexingMap(input).isProjectedPermutation(
            /*allowZeroInResults=*/true))
      return false;
  return llvm::all_of(*op.getBody(), [](Operation &inner) {
    return inner.getNumRegions() == 0;
  });
}

} // namespace stagewright::bodies
