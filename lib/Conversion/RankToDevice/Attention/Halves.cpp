//===- Halves.cpp - attention gradients as two operations -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Halves.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace stagewright::device {

using pipeline::Attention;

/// Makes delta: for every query, the sum of `output` times its gradient.
static Value makeDelta(OpBuilder &builder, const Attention &of,
                       SmallVectorImpl<Operation *> &made) {
  Location loc = of.op->getLoc();
  ShapedType rows = of.type("statistics");
  bool tensors = isa<RankedTensorType>(rows);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Value start;
  if (tensors)
    start = tensor::EmptyOp::create(builder, loc, rows.getShape(),
                                    rows.getElementType());
  else
    start = memref::AllocOp::create(
        builder, loc, MemRefType::get(rows.getShape(), rows.getElementType()));
  auto fill = linalg::FillOp::create(builder, loc, zero, start);
  made.push_back(fill);
  if (tensors)
    start = fill.getResult(0);
  // Loops over batches, queries and the value width.
  unsigned loops = of.batches() + 2;
  SmallVector<AffineExpr> dims(of.extents.size(),
                               builder.getAffineConstantExpr(0));
  for (unsigned dim = 0; dim <= of.queryDim(); ++dim)
    dims[dim] = builder.getAffineDimExpr(dim);
  dims[of.valueDim()] = builder.getAffineDimExpr(loops - 1);
  SmallVector<AffineMap> maps;
  for (StringRef name : {"output", "d_output", "statistics"})
    maps.push_back(of.map(name).replaceDimsAndSymbols(dims, {}, loops, 0));
  SmallVector<utils::IteratorType> kinds(loops, utils::IteratorType::parallel);
  kinds.back() = utils::IteratorType::reduction;
  auto sum = linalg::GenericOp::create(
      builder, loc, tensors ? TypeRange(start.getType()) : TypeRange(),
      ValueRange{of.operand("output"), of.operand("d_output")}, start, maps,
      kinds, [&](OpBuilder &inner, Location loc, ValueRange x) {
        auto widen = [&](Value value) -> Value {
          return value.getType().isF32()
                     ? value
                     : arith::ExtFOp::create(inner, loc, inner.getF32Type(),
                                             value);
        };
        Value product =
            arith::MulFOp::create(inner, loc, widen(x[0]), widen(x[1]));
        Value sum = arith::AddFOp::create(inner, loc, x[2], product);
        linalg::YieldOp::create(inner, loc, sum);
      });
  made.push_back(sum);
  return tensors ? sum->getResult(0) : start;
}

template <typename Op>
static Operation *
makeHalf(OpBuilder &builder, pipeline::AttentionGradientOp whole,
         const Attention &of, Value delta, ArrayRef<StringRef> made) {
  SmallVector<Value> inputs, outputs;
  SmallVector<Attribute> maps;
  auto take = [&](SmallVectorImpl<Value> &list, StringRef name) {
    list.push_back(of.operand(name));
    maps.push_back(AffineMapAttr::get(of.map(name)));
  };
  for (StringRef name : {"query", "key", "value", "mask", "keep", "statistics"})
    if (of.has(name))
      take(inputs, name);
  inputs.push_back(delta);
  maps.push_back(maps.back());
  take(inputs, "d_output");
  for (StringRef name : made)
    take(outputs, name);
  SmallVector<Type> results;
  if (whole->getNumResults() > 0)
    results.assign(ValueRange(outputs).getTypes().begin(),
                   ValueRange(outputs).getTypes().end());
  return Op::create(builder, whole.getLoc(), results, inputs, outputs,
                    builder.getArrayAttr(maps), whole.getScaleAttr(),
                    whole.getCapAttr(), whole.getCausalAttr(),
                    whole.getFillAttr(), whole.getKeptAttr(),
                    /*library=*/nullptr);
}

Halves writeHalves(OpBuilder &builder, pipeline::AttentionGradientOp whole) {
  Halves halves;
  Attention of = *Attention::get(whole);
  Value delta = makeDelta(builder, of, halves.sums);
  halves.queries = makeHalf<pipeline::AttentionQueryGradientOp>(
      builder, whole, of, delta, {"d_query"});
  halves.keys = makeHalf<pipeline::AttentionKeyGradientOp>(
      builder, whole, of, delta, {"d_key", "d_value"});
  return halves;
}

} // namespace stagewright::device
