//===- CallConvolutions.cpp - convolutions as calls of the runtime --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright-rt/runtime.h"
#include "stagewright/Conversion/BodiesToKernels/LibraryCalls.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICECALLCONVOLUTIONS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

static_assert(int(rank::Convolution::Result) == SW_CONVOLVE_RESULT &&
              int(rank::Convolution::Image) == SW_CONVOLVE_IMAGE &&
              int(rank::Convolution::Filter) == SW_CONVOLVE_FILTER);

struct DeviceCallConvolutionsPass
    : impl::DeviceCallConvolutionsBase<DeviceCallConvolutionsPass> {
  using DeviceCallConvolutionsBase::DeviceCallConvolutionsBase;

  void runOnOperation() override {
    bodies::LibraryCalls calls(getOperation());
    SmallVector<rank::ConvolveOp> ops;
    getOperation().walk([&](rank::ConvolveOp op) { ops.push_back(op); });
    for (rank::ConvolveOp op : ops)
      if (failed(call(op, calls)))
        return signalPassFailure();
  }

  /// Strides of an operand, in elements: of its images or filters, of its
  /// channels, and of three spatial dimensions.
  LogicalResult stridesOf(rank::ConvolveOp op, unsigned role,
                          int64_t (&out)[5]) {
    auto type = dyn_cast<MemRefType>(op.getRoles()[role].getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type || failed(type.getStridesAndOffset(strides, offset)) ||
        ShapedType::isDynamic(offset) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return op.emitError() << "convolution needs buffers with static strides, "
                               "but got "
                            << op.getRoles()[role].getType();
    ArrayRef<int64_t> dims = op.getDims(role);
    out[0] = strides[size_t(dims[0])], out[1] = strides[size_t(dims[1])];
    unsigned places = op.getNumPlaces(), absent = 3 - places;
    for (unsigned i = 0; i < places; ++i)
      out[2 + absent + i] = strides[size_t(dims[2 + i])];
    // Missing spatial dimensions have extent 1 and are the outer ones.
    for (unsigned i = 0; i < absent; ++i)
      out[2 + i] = out[2 + absent] * op.getExtent(role, 2);
    return success();
  }

  FailureOr<sw_convolve_desc> describe(rank::ConvolveOp op) {
    sw_convolve_desc desc = {};
    desc.writes = int32_t(op.getWrites());
    desc.x_dtype = bodies::dtypeOf(getElementTypeOrSelf(op.getRoles()[0]));
    desc.w_dtype = bodies::dtypeOf(getElementTypeOrSelf(op.getRoles()[1]));
    desc.y_dtype = bodies::dtypeOf(getElementTypeOrSelf(op.getRoles()[2]));
    desc.tf32 = tf32;
    desc.batch = op.getExtent(0, 0), desc.channels = op.getExtent(0, 1);
    desc.filters = op.getExtent(1, 0), desc.groups = 1;
    unsigned places = op.getNumPlaces(), absent = 3 - places;
    for (unsigned i = 0; i < absent; ++i) {
      desc.image[i] = desc.window[i] = desc.result[i] = 1;
      desc.stride[i] = desc.dilation[i] = 1;
    }
    for (unsigned i = 0; i < places; ++i) {
      unsigned to = absent + i;
      desc.image[to] = op.getExtent(0, 2 + i);
      desc.window[to] = op.getExtent(1, 2 + i);
      desc.result[to] = op.getExtent(2, 2 + i);
      desc.stride[to] = op.getStride()[i];
      desc.dilation[to] = op.getDilation()[i];
      desc.before[to] = op.getBefore()[i], desc.after[to] = op.getAfter()[i];
    }
    if (failed(stridesOf(op, 0, desc.x)) || failed(stridesOf(op, 1, desc.w)) ||
        failed(stridesOf(op, 2, desc.y)))
      return failure();
    return desc;
  }

  LogicalResult call(rank::ConvolveOp op, bodies::LibraryCalls &calls) {
    FailureOr<sw_convolve_desc> desc = describe(op);
    if (failed(desc))
      return failure();
    calls.replace(op, "sw_convolve", *desc, op.getRoles());
    return success();
  }
};

} // namespace
} // namespace stagewright::device
