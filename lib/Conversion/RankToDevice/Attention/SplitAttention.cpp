//===- SplitAttention.cpp - gradients of attention in two halves ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"

using namespace mlir;

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICESPLITATTENTION
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

using pipeline::Attention;

/// For every query the sum of `output` times its gradient.
Value makeDelta(OpBuilder &builder, const Attention &of) {
  Location loc = of.op->getLoc();
  auto rows = cast<RankedTensorType>(of.operand("statistics").getType());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Value start = tensor::EmptyOp::create(builder, loc, rows.getShape(),
                                        rows.getElementType());
  start = linalg::FillOp::create(builder, loc, zero, start).getResult(0);
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
  return linalg::GenericOp::create(
             builder, loc, rows,
             ValueRange{of.operand("output"), of.operand("d_output")}, start,
             maps, kinds,
             [&](OpBuilder &inner, Location loc, ValueRange x) {
               auto widen = [&](Value value) -> Value {
                 return value.getType().isF32()
                            ? value
                            : arith::ExtFOp::create(inner, loc,
                                                    inner.getF32Type(), value);
               };
               Value product =
                   arith::MulFOp::create(inner, loc, widen(x[0]), widen(x[1]));
               Value sum = arith::AddFOp::create(inner, loc, x[2], product);
               linalg::YieldOp::create(inner, loc, sum);
             })
      .getResult(0);
}

template <typename Op>
ValueRange makeHalf(OpBuilder &builder, pipeline::AttentionGradientOp whole,
                    const Attention &of, Value delta,
                    ArrayRef<StringRef> made) {
  SmallVector<Value> inputs, outputs;
  SmallVector<Attribute> maps;
  auto take = [&](SmallVectorImpl<Value> &list, StringRef name) {
    list.push_back(of.operand(name));
    maps.push_back(AffineMapAttr::get(of.map(name)));
  };
  for (StringRef name : {"query", "key", "value", "mask", "statistics"})
    if (of.has(name))
      take(inputs, name);
  inputs.push_back(delta);
  maps.push_back(maps.back());
  take(inputs, "d_output");
  for (StringRef name : made)
    take(outputs, name);
  return Op::create(builder, whole.getLoc(), ValueRange(outputs).getTypes(),
                    inputs, outputs, builder.getArrayAttr(maps),
                    whole.getScaleAttr(), whole.getCausalAttr(),
                    whole.getFillAttr())
      .getResults();
}

struct DeviceSplitAttentionPass
    : impl::DeviceSplitAttentionBase<DeviceSplitAttentionPass> {
  void runOnOperation() override {
    if (!host::isBody(getOperation()))
      return;
    SmallVector<pipeline::AttentionGradientOp> wholes(
        getOperation().getOps<pipeline::AttentionGradientOp>());
    auto goes = [&](Operation *op) {
      bool library = isForLibrary(*Attention::get(op));
      if (library)
        op->setAttr(kLibrary, UnitAttr::get(&getContext()));
      return library;
    };
    for (auto forward : getOperation().getOps<pipeline::AttentionOp>())
      goes(forward);
    for (pipeline::AttentionGradientOp whole : wholes) {
      if (goes(whole))
        continue;
      Attention of = *Attention::get(whole);
      OpBuilder builder(whole);
      Value delta = makeDelta(builder, of);
      SmallVector<Value> results(makeHalf<pipeline::AttentionQueryGradientOp>(
          builder, whole, of, delta, {"d_query"}));
      llvm::append_range(results,
                         makeHalf<pipeline::AttentionKeyGradientOp>(
                             builder, whole, of, delta, {"d_key", "d_value"}));
      whole->replaceAllUsesWith(results);
      whole.erase();
    }
  }
};

} // namespace
} // namespace stagewright::device
