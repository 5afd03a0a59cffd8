//===- CountFlops.cpp - arithmetic operations of a function ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/CountFlops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::pipeline {

/// Number of elements of `type`; 1 for scalars and for dynamic shapes.
static double elementsOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasStaticShape() ? shaped.getNumElements() : 1;
}

/// Product of the static extents of `value` in the dimensions `dims`.
static double sizesOf(Value value, ArrayRef<int64_t> dims) {
  auto shaped = dyn_cast<ShapedType>(value.getType());
  double product = 1;
  for (int64_t dim : dims)
    if (shaped && shaped.hasRank() && dim < shaped.getRank() &&
        !shaped.isDynamicDim(dim))
      product *= shaped.getDimSize(dim);
  return product;
}

/// Cost of one operation of arith or math, in scalar operations. Division and
/// roots take about four times a multiplication (Agner Fog's tables, Zen 3:
/// vdivps 10, vsqrtps 14, vmulps 3 cycles); the usual polynomials for exp, log
/// and tanh have about twenty operations.
static double scalarFlops(Operation *op) {
  if (isa<arith::ConstantOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return 0;
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
          arith::RemSIOp, arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(op))
    return 4;
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
          math::CopySignOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(
          op))
    return 1;
  if (isa<math::FmaOp>(op))
    return 2;
  return isa<math::MathDialect>(op->getDialect()) ? 20 : 1;
}

/// Scalar operations of a tosa operation: none if it only moves data, 20 per
/// element for elementary functions, 1 per element of the result by default.
static double tosaFlops(Operation *op) {
  double results = 0;
  for (Type type : op->getResultTypes())
    results += elementsOf(type);
  return TypeSwitch<Operation *, double>(op)
      .Case<tosa::ConstOp, tosa::ReshapeOp, tosa::TransposeOp, tosa::SliceOp,
            tosa::ConcatOp, tosa::PadOp, tosa::TileOp, tosa::GatherOp>(
          [](auto) { return 0; })
      .Case([&](tosa::MatMulOp matmul) {
        return 2 * results * sizesOf(matmul.getA(), {2});
      })
      .Case<tosa::Conv2DOp, tosa::Conv3DOp>([&](auto conv) {
        // Weights are [output channels, window…, input channels].
        auto weight = cast<ShapedType>(conv.getWeight().getType());
        return 2 * results * elementsOf(weight) /
               sizesOf(conv.getWeight(), {0});
      })
      .Case([&](tosa::DepthwiseConv2DOp conv) {
        return 2 * results * sizesOf(conv.getWeight(), {0, 1});
      })
      .Case<tosa::MaxPool2dOp, tosa::AvgPool2dOp>([&](auto pool) {
        ArrayRef<int64_t> window = pool.getKernel();
        return results * window[0] * window[1];
      })
      .Case<tosa::ReduceSumOp, tosa::ReduceMaxOp, tosa::ReduceMinOp,
            tosa::ReduceProductOp>(
          [&](auto reduce) { return elementsOf(reduce.getInput().getType()); })
      .Case<tosa::ExpOp, tosa::LogOp, tosa::TanhOp, tosa::SigmoidOp,
            tosa::ErfOp, tosa::PowOp>([&](auto) { return 20 * results; })
      .Default([&](Operation *) { return results; });
}

FlopCount &FlopCount::operator+=(const FlopCount &other) {
  total += other.total;
  for (const auto &[contraction, flops] : other.contractions)
    contractions[contraction] += flops;
  return *this;
}

FlopCount FlopCount::operator*(double times) const {
  FlopCount result = *this;
  result.total *= times;
  for (auto &[contraction, flops] : result.contractions)
    flops = flops * times;
  return result;
}

/// The widest element type of the operands that `op` contracts, named as in
/// tables of rates ("bf16"); empty for a type that has no rate.
static std::string rateTypeOf(Operation *op) {
  Type widest;
  SmallVector<Value> inputs(op->getOperands());
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    inputs = structured.getDpsInputs();
  else if (auto attention = Attention::get(op)) // Its row sums are wider.
    inputs = {attention->operand("query"), attention->operand("key"),
              attention->operand("value")};
  for (Value input : inputs) {
    Type type = getElementTypeOrSelf(input.getType());
    if (type.isIntOrFloat() && (!widest || type.getIntOrFloatBitWidth() >
                                               widest.getIntOrFloatBitWidth()))
      widest = type;
  }
  if (!widest)
    return {};
  unsigned width = widest.getIntOrFloatBitWidth();
  if (isa<FloatTF32Type>(widest))
    return "tf32";
  if (widest.isBF16())
    return "bf16";
  if (isa<FloatType>(widest) && width >= 4 && width <= 64)
    return width == 6 ? "" : "f" + std::to_string(width);
  return widest.isInteger(4) || widest.isInteger(8)
             ? "i" + std::to_string(width)
             : "";
}

/// The sizes of a linalg contraction as batched matrix products, without type.
/// A convolution counts as the product of its patches with its filter (im2col).
static Contraction sizeOf(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto product = [&](ArrayRef<unsigned> dims) {
    int64_t all = 1;
    for (unsigned dim : dims)
      all = ShapedType::isDynamic(sizes[dim]) ? 0 : all * sizes[dim];
    return all;
  };
  // inferContractionDims() finds only some dimensions of a convolution.
  if (auto dims = linalg::inferContractionDims(op);
      succeeded(dims) && linalg::isaContractionOpInterface(op))
    return {"", product(dims->batch), product(dims->m), product(dims->n),
            product(dims->k)};
  if (auto dims = linalg::inferConvolutionDims(op); succeeded(dims))
    return {"", product(dims->depth),
            product(dims->batch) * product(dims->outputImage),
            product(dims->outputChannel),
            product(dims->filterLoop) * product(dims->inputChannel)};
  return {};
}

/// The sizes of contraction `op` as batched matrix products, without type.
static Contraction sizeOf(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return sizeOf(structured);
  // Blocks of queries are independent, and each sums over all keys.
  if (auto attention = Attention::get(op))
    return {"", attention->heads(), attention->queries(),
            attention->valueWidth(), attention->keys()};
  if (auto matmul = dyn_cast<tosa::MatMulOp>(op))
    return {"", int64_t(sizesOf(matmul.getA(), {0})),
            int64_t(sizesOf(matmul.getA(), {1})),
            int64_t(sizesOf(matmul.getB(), {2})),
            int64_t(sizesOf(matmul.getA(), {2}))};
  return {};
}

FlopCount FlopCounter::countOperation(Operation *op) {
  FlopCount count;
  // Counts `flops` for `op`, also by type and size if it is a contraction.
  auto contraction = [&](double flops) {
    count.total = flops;
    if (isContraction(op))
      if (std::string type = rateTypeOf(op); !type.empty()) {
        Contraction size = sizeOf(op);
        size.type = type;
        count.contractions[size] = Flops(flops);
      }
    return count;
  };
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    double points = 1;
    for (int64_t size : structured.getStaticLoopRanges())
      points *= ShapedType::isDynamic(size) ? 1 : size;
    double each = countRegion(structured->getRegion(0)).total;
    // Casts that widen the inputs are part of the product and cost nothing.
    if (isContraction(op))
      for (Operation &scalar : structured.getBlock()->getOperations())
        each -= isa<CastOpInterface>(scalar) ? scalarFlops(&scalar) : 0;
    return contraction(points * each);
  }
  if (auto attention = Attention::get(op))
    return contraction(attention->flops());
  if (auto softmax =
          dyn_cast<linalg::SoftmaxOp>(op)) { // Max, subtract, exp, sum, divide.
    count.total = 27 * elementsOf(softmax.getInput().getType());
    return count;
  }
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
    return callee ? this->count(callee) : count;
  }
  for (Region &region : op->getRegions())
    count += countRegion(region);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    return count * (trips ? trips->getSExtValue() : 1);
  }
  if (isa<tensor::GenerateOp>(op))
    return count * elementsOf(op->getResult(0).getType());
  if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    count.total = scalarFlops(op) * elementsOf(op->getResult(0).getType());
  else if (isa_and_nonnull<tosa::TosaDialect>(op->getDialect()))
    return contraction(tosaFlops(op) + count.total);
  return count;
}

FlopCount FlopCounter::countRegion(Region &region) {
  FlopCount count;
  for (Operation &op : region.getOps())
    count += countOperation(&op);
  return count;
}

FlopCount FlopCounter::count(FunctionOpInterface function) {
  // A recursive call inside the function counts as 0.
  auto [entry, isNew] = known.try_emplace(function, FlopCount());
  if (!isNew)
    return entry->second;
  FlopCount count = countRegion(function.getFunctionBody());
  return known[function] = count;
}

NodeWork workOf(NodeOp node, FlopCounter &counter) {
  CostAttr cost = node.getCostAttr();
  NodeWork work = {Flops(double(cost.getFlops())), Bytes(cost.getRead()),
                   Bytes(cost.getWritten())};
  if (!node.getCalleeAttr())
    return work;
  auto body = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      node, node.getCalleeAttr());
  work.contractions = counter.count(body).contractions;
  return work;
}

} // namespace stagewright::pipeline
