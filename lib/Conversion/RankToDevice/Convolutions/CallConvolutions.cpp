//===- CallConvolutions.cpp - convolutions as calls of the runtime --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright-rt/runtime.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "llvm/ADT/StringMap.h"
#include <cstring>

using namespace mlir;

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICECALLCONVOLUTIONS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

static_assert(int(rank::Convolution::Result) == SW_CONVOLVE_RESULT &&
              int(rank::Convolution::Image) == SW_CONVOLVE_IMAGE &&
              int(rank::Convolution::Filter) == SW_CONVOLVE_FILTER);
static_assert(sizeof(sw_convolve_desc) % sizeof(int64_t) == 0);

int32_t dtypeOf(Value buffer) {
  Type type = cast<MemRefType>(buffer.getType()).getElementType();
  return type.isF16() ? SW_F16 : type.isBF16() ? SW_BF16 : SW_F32;
}

/// Where the first element of a buffer lies.
Value pointerTo(OpBuilder &builder, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto [strides, offset] = type.getStridesAndOffset();
  Value base = UnrealizedConversionCastOp::create(builder, buffer.getLoc(),
                                                  pointer, buffer)
                   .getResult(0);
  if (offset == 0)
    return base;
  int64_t bytes = offset * type.getElementTypeBitWidth() / 8;
  return LLVM::GEPOp::create(builder, buffer.getLoc(), pointer,
                             builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

struct DeviceCallConvolutionsPass
    : impl::DeviceCallConvolutionsBase<DeviceCallConvolutionsPass> {
  using DeviceCallConvolutionsBase::DeviceCallConvolutionsBase;

  void runOnOperation() override {
    names.clear();
    SmallVector<rank::ConvolveOp> ops;
    getOperation().walk([&](rank::ConvolveOp op) { ops.push_back(op); });
    for (rank::ConvolveOp op : ops)
      if (failed(call(op)))
        return signalPassFailure();
  }

  /// Strides of an operand by image or filter, channel and three places.
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
    // What is not there lies around what is.
    for (unsigned i = 0; i < absent; ++i)
      out[2 + i] = out[2 + absent] * op.getExtent(role, 2);
    return success();
  }

  FailureOr<sw_convolve_desc> describe(rank::ConvolveOp op) {
    sw_convolve_desc desc = {};
    desc.writes = int32_t(op.getWrites());
    desc.x_dtype = dtypeOf(op.getRoles()[0]);
    desc.w_dtype = dtypeOf(op.getRoles()[1]);
    desc.y_dtype = dtypeOf(op.getRoles()[2]);
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

  LogicalResult call(rank::ConvolveOp op) {
    FailureOr<sw_convolve_desc> desc = describe(op);
    if (failed(desc))
      return failure();
    OpBuilder builder(op);
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    SmallVector<Value> arguments = {
        op->getParentOfType<func::FuncOp>().getArgument(0),
        LLVM::AddressOfOp::create(builder, op.getLoc(), pointer,
                                  nameOf(*desc, op.getLoc()))};
    for (Value buffer : op.getRoles())
      arguments.push_back(pointerTo(builder, buffer));
    constexpr llvm::StringLiteral name = "sw_convolve";
    auto callee = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder top(getOperation().getBodyRegion());
      callee = LLVM::LLVMFuncOp::create(
          top, op.getLoc(), name,
          LLVM::LLVMFunctionType::get(
              LLVM::LLVMVoidType::get(&getContext()),
              SmallVector<Type>(arguments.size(), pointer)));
    }
    LLVM::CallOp::create(builder, op.getLoc(), callee, arguments);
    op.erase();
    return success();
  }

  /// The constant that holds `desc`.
  StringRef nameOf(const sw_convolve_desc &desc, Location loc) {
    std::string &name =
        names[StringRef(reinterpret_cast<const char *>(&desc), sizeof(desc))];
    if (!name.empty())
      return name;
    name = "convolve." + std::to_string(names.size() - 1);
    SmallVector<int64_t> words(sizeof(desc) / sizeof(int64_t));
    std::memcpy(words.data(), &desc, sizeof(desc));
    OpBuilder builder(getOperation().getBodyRegion());
    LLVM::GlobalOp::create(
        builder, loc,
        LLVM::LLVMArrayType::get(builder.getI64Type(), unsigned(words.size())),
        /*isConstant=*/true, LLVM::Linkage::Private, name,
        DenseElementsAttr::get(RankedTensorType::get({int64_t(words.size())},
                                                     builder.getI64Type()),
                               ArrayRef<int64_t>(words)),
        /*alignment=*/8);
    return name;
  }

  llvm::StringMap<std::string> names; ///< of descriptors
};

} // namespace
} // namespace stagewright::device
