//===- Work.cpp - cost of repeating an operation --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Work.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::pipeline {

/// Cost of one scalar operation, in multiplications. Division and roots take
/// about four times the time of a multiplication on current CPUs (Agner Fog's
/// tables, Zen 3: vdivps 10, vsqrtps 14, vmulps 3 cycles); the polynomials for
/// exp, log and tanh have about twenty operations.
static double scalarFlops(Operation *op) {
  if (isa<arith::ConstantOp, arith::IndexCastOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return 0;
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
          arith::RemSIOp, arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(op))
    return 4;
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::FmaOp,
          math::CopySignOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(
          op))
    return 1;
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return 20;
  return 1;
}

int64_t bytesOf(Type type) {
  int64_t elements = 1;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!shaped.hasStaticShape())
      return 0;
    elements = shaped.getNumElements();
    type = shaped.getElementType();
  }
  if (isa<IndexType>(type))
    return elements * 8;
  if (auto complex = dyn_cast<ComplexType>(type))
    return elements * 2 *
           ((complex.getElementType().getIntOrFloatBitWidth() + 7) / 8);
  if (!type.isIntOrFloat())
    return 0;
  return elements * ((type.getIntOrFloatBitWidth() + 7) / 8);
}

/// The number of elements of all results of `op`.
static double resultElements(Operation *op) {
  double elements = 0;
  for (Type type : op->getResultTypes()) {
    auto shaped = dyn_cast<ShapedType>(type);
    elements += shaped && shaped.hasStaticShape() ? shaped.getNumElements() : 1;
  }
  return elements;
}

/// The work of a linalg operation without reductions: a move if it computes
/// nothing.
static Work workOfParallel(linalg::LinalgOp op) {
  double perElement = 0;
  for (Operation &scalar : op.getBlock()->without_terminator()) {
    // A read at a computed index is a gather, which takes the time of its
    // memory accesses.
    if (scalar.getNumRegions() > 0 || isa<tensor::ExtractOp>(scalar))
      return {WorkKind::Heavy};
    perElement += scalarFlops(&scalar);
  }
  double elements = resultElements(op);
  if (perElement > 0)
    return {WorkKind::Elementwise, perElement * elements};
  // A permuted copy reads or writes with a stride; a broadcast is free if it is
  // fused with its user.
  bool permutes = llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
    int64_t last = -1;
    for (AffineExpr result : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(result)) {
        if (static_cast<int64_t>(dim.getPosition()) < last)
          return true;
        last = dim.getPosition();
      }
    return false;
  });
  return {WorkKind::Move, permutes ? elements : 0};
}

Work workOf(Operation *op) {
  if (isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp, tensor::SplatOp>(
          op))
    return {WorkKind::Constant};
  if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
          tensor::ReshapeOp, tensor::ExtractSliceOp>(op))
    return {WorkKind::Move};
  if (isa<tensor::InsertSliceOp, tensor::ConcatOp, tensor::PadOp>(op))
    return {WorkKind::Move, resultElements(op)};
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    // Softmax and similar operations are not LinalgOps; convolutions and
    // matmuls have reductions.
    if (linalgOp.getNumReductionLoops() == 0 &&
        linalgOp.hasPureTensorSemantics())
      return workOfParallel(linalgOp);
    return {WorkKind::Heavy};
  }
  if (op->getNumRegions() == 0 &&
      isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return {WorkKind::Elementwise, scalarFlops(op) * resultElements(op)};
  return {WorkKind::Heavy};
}

/// Whether `op` is a convolution. A pooling has the same loops and maps, but
/// multiplies nothing.
static bool isConvolution(linalg::LinalgOp op) {
  return linalg::isaConvolutionOpInterface(op) &&
         llvm::any_of(*op.getBlock(), [](Operation &scalar) {
           return isa<arith::MulFOp, arith::MulIOp>(scalar);
         });
}

bool isContraction(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    if (!linalg::isaContractionOpInterface(generic))
      return isConvolution(generic);
    // Without both m and n (a dot product per row) it is a reduction.
    auto dims = linalg::inferContractionDims(generic);
    return succeeded(dims) && !dims->m.empty() && !dims->n.empty();
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalg::isaContractionOpInterface(linalgOp) ||
           isConvolution(linalgOp);
  if (Attention::get(op))
    return true;
  return op->getName().getStringRef().starts_with("tosa.") &&
         llvm::is_contained({"tosa.matmul", "tosa.conv2d", "tosa.conv3d",
                             "tosa.depthwise_conv2d", "tosa.transpose_conv2d"},
                            op->getName().getStringRef());
}

bool isTensorAdd(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Type type = op->getResult(0).getType();
  if (isa<arith::AddFOp>(op))
    return isa<RankedTensorType>(type);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInputs() != 2 ||
      linalgOp.getNumDpsInits() != 1 || linalgOp.getNumReductionLoops() != 0 ||
      !llvm::all_of(linalgOp.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block *body = linalgOp.getBlock();
  auto add = dyn_cast<arith::AddFOp>(body->front());
  return add && std::next(body->begin(), 2) == body->end() &&
         add.getLhs() != add.getRhs() &&
         llvm::all_of(add->getOperands(),
                      [&](Value operand) {
                        auto argument = dyn_cast<BlockArgument>(operand);
                        return argument && argument.getArgNumber() < 2;
                      }) &&
         body->getTerminator()->getOperand(0) == add.getResult();
}

} // namespace stagewright::pipeline
