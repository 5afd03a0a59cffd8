//===- RaiseConvolutions.cpp - convolutions for the device's library ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Geometry.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICERAISECONVOLUTIONS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// The layout of an operand for the library: for each dimension in memory,
/// whether it is batch or filter (0), channel (1) or a spatial one (2 and up).
Numbers layoutOf(size_t places, bool channelsLast) {
  Numbers order = {0};
  if (!channelsLast)
    order.push_back(1);
  for (size_t i = 0; i < places; ++i)
    order.push_back(int64_t(2 + i));
  if (channelsLast)
    order.push_back(1);
  return order;
}

struct DeviceRaiseConvolutionsPass
    : impl::DeviceRaiseConvolutionsBase<DeviceRaiseConvolutionsPass> {
  using DeviceRaiseConvolutionsBase::DeviceRaiseConvolutionsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    bodies::generalizeNamed(getOperation(), rewriter, [](Operation *op) {
      return isa<linalg::ConvolutionOpInterface>(op);
    });
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      if (std::optional<Geometry> geometry = Geometry::get(op)) {
        rewriter.setInsertionPoint(op);
        replace(op, *geometry, rewriter);
        ++numRaised;
      }
  }

  /// `value` with its dimension permutation[i] as dimension i.
  static Value transpose(OpBuilder &builder, Location loc, Value value,
                         ArrayRef<int64_t> permutation) {
    auto type = cast<RankedTensorType>(value.getType());
    if (llvm::is_sorted(permutation))
      return value;
    Numbers shape;
    for (int64_t from : permutation)
      shape.push_back(type.getDimSize(unsigned(from)));
    Value empty =
        tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
    return linalg::TransposeOp::create(builder, loc, value, empty, permutation)
        ->getResult(0);
  }

  void replace(linalg::GenericOp op, const Geometry &it, IRRewriter &rewriter) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    size_t places = it.stride.size();
    unsigned written = it.writes == rank::Convolution::Result  ? 2
                       : it.writes == rank::Convolution::Image ? 0
                                                               : 1;
    // All three have the image's layout, or the result's if the image is made.
    bool channelsLast = !llvm::is_sorted(
        it.dims[it.writes == rank::Convolution::Image ? 2 : 0]);
    Numbers order = layoutOf(places, channelsLast);
    Numbers inOrder(order.size());
    for (auto [memory, dim] : llvm::enumerate(order))
      inOrder[size_t(dim)] = int64_t(memory);

    SmallVector<Value> inputs;
    for (unsigned role = 0; role < 3; ++role) {
      if (role == written)
        continue;
      Numbers permutation;
      for (int64_t dim : order)
        permutation.push_back(it.dims[role][size_t(dim)]);
      inputs.push_back(
          transpose(rewriter, loc, it.operands[role], permutation));
    }
    Numbers shape, back(order.size());
    for (auto [memory, dim] : llvm::enumerate(order)) {
      int64_t own = it.dims[written][size_t(dim)];
      shape.push_back(type.getDimSize(unsigned(own)));
      back[size_t(own)] = int64_t(memory);
    }
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
    Value result = rank::ConvolveOp::create(
                       rewriter, loc, empty.getType(), it.writes, inputs[0],
                       inputs[1], empty, inOrder, inOrder, inOrder, it.stride,
                       it.dilation, it.before, it.after)
                       .getOutput();
    result = transpose(rewriter, loc, result, back);
    Value init = op.getDpsInits()[0];
    if (!bodies::isZero(init))
      result = bodies::createUpdate(rewriter, loc, init, result);
    rewriter.replaceOp(op, result);
  }
};

} // namespace
} // namespace stagewright::device
