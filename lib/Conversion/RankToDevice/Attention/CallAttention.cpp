//===- CallAttention.cpp - attention as a call of the runtime -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Conversion/BodiesToKernels/LibraryCalls.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICECALLATTENTION
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

using pipeline::Attention;

struct DeviceCallAttentionPass
    : impl::DeviceCallAttentionBase<DeviceCallAttentionPass> {
  void runOnOperation() override {
    bodies::LibraryCalls calls(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr(kLibrary))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(call(*Attention::get(op), calls)))
        return signalPassFailure();
  }

  /// Strides of batch, head, position and width of an operand on buffers.
  LogicalResult stridesOf(const Attention &of, const LibraryHeads &heads,
                          StringRef name, int64_t (&out)[4]) {
    auto type = cast<MemRefType>(of.operand(name).getType());
    auto [strides, offset] = type.getStridesAndOffset();
    AffineMap map = of.map(name);
    auto strideOf = [&](int dim) -> int64_t {
      for (unsigned i = 0; i < map.getNumResults(); ++i)
        if (int(map.getDimPosition(i)) == dim)
          return strides[i];
      return 0;
    };
    bool keys = map.isFunctionOfDim(of.keyDim());
    bool values = map.isFunctionOfDim(of.valueDim());
    out[0] = strideOf(heads.batch);
    out[1] = strideOf(heads.head);
    if (heads.group >= 0 && !keys) {
      int64_t step = strideOf(heads.group);
      if (heads.head >= 0 && of.extents[heads.head] != 1 &&
          out[1] != step * of.extents[heads.group])
        return of.op->emitError()
               << "heads of " << name << " are not evenly apart: " << type;
      out[1] = step;
    }
    out[2] = strideOf(int(keys ? of.keyDim() : of.queryDim()));
    out[3] = strideOf(int(values ? of.valueDim() : of.widthDim()));
    // The buffer may be a view of another buffer, with rows that are not
    // aligned.
    bool aligned = offset % kUnit == 0 && out[3] == 1 &&
                   llvm::all_of(ArrayRef(out).drop_back(), [](int64_t stride) {
                     return stride % kUnit == 0;
                   });
    if (!aligned)
      return of.op->emitError() << name << " of type " << type
                                << " does not begin every row at a multiple of "
                                   "16 bytes, as the device's library needs; "
                                   "a larger --score-bytes avoids the call";
    return success();
  }

  /// Strides of batch, head, query and key of the bias that makeBias made; 0
  /// for dimensions that it does not have.
  static LogicalResult biasStridesOf(const Attention &of,
                                     const LibraryHeads &heads,
                                     int64_t (&out)[4]) {
    auto type = cast<MemRefType>(of.operand("mask").getType());
    auto [strides, offset] = type.getStridesAndOffset();
    AffineMap map = of.map("mask");
    auto strideOf = [&](int dim) -> int64_t {
      for (unsigned i = 0; i < map.getNumResults(); ++i)
        if (int(map.getDimPosition(i)) == dim && type.getDimSize(i) != 1)
          return strides[i];
      return 0;
    };
    // Heads that share keys are adjacent.
    bool shares = heads.group >= 0 && of.extents[heads.group] != 1;
    out[0] = strideOf(heads.batch);
    out[1] = strideOf(shares ? heads.group : heads.head);
    out[2] = strideOf(int(of.queryDim()));
    out[3] = strideOf(int(of.keyDim()));
    int64_t step = shares ? strideOf(heads.head) : 0;
    if (step != 0 && step != out[1] * of.extents[heads.group])
      return of.op->emitError()
             << "heads of the mask are not evenly apart: " << type;
    return success();
  }

  FailureOr<sw_attention_desc> describe(const Attention &of) {
    LibraryHeads heads = *LibraryHeads::get(of);
    auto extent = [&](int dim) { return dim < 0 ? 1 : of.extents[dim]; };
    sw_attention_desc desc = {};
    desc.dtype = of.type("query").getElementType().isF16() ? SW_F16 : SW_BF16;
    desc.causal = of.causal;
    desc.scale = of.scale;
    desc.otherwise = 1;
    desc.batch = extent(heads.batch);
    desc.key_heads = extent(heads.head);
    desc.heads = desc.key_heads * extent(heads.group);
    desc.queries = of.queries();
    desc.keys = of.keys();
    desc.width = of.width();
    desc.value_width = of.valueWidth();
    auto take = [&](StringRef name, int64_t (&out)[4]) {
      return of.has(name) ? stridesOf(of, heads, name, out) : success();
    };
    if (of.has("mask")) {
      desc.has_bias = 1;
      Type element = of.type("mask").getElementType();
      desc.bias_dtype = element.isF32() ? int32_t(SW_F32) : desc.dtype;
      if (failed(biasStridesOf(of, heads, desc.bias)))
        return failure();
    }
    if (failed(take("query", desc.q)) || failed(take("key", desc.k)) ||
        failed(take("value", desc.v)) || failed(take("output", desc.o)) ||
        failed(take("d_output", desc.d_o)) ||
        failed(take("d_query", desc.d_q)) || failed(take("d_key", desc.d_k)) ||
        failed(take("d_value", desc.d_v)))
      return failure();
    return desc;
  }

  LogicalResult call(const Attention &of, bodies::LibraryCalls &calls) {
    FailureOr<sw_attention_desc> desc = describe(of);
    if (failed(desc))
      return failure();
    StringRef name =
        isa<pipeline::AttentionOp>(of.op) ? "sw_attend" : "sw_attend_gradient";
    // The bias is the last buffer, and optional.
    SmallVector<Value> buffers;
    for (StringRef operand : of.names)
      if (operand != "mask")
        buffers.push_back(of.operand(operand));
    buffers.push_back(of.operand("mask"));
    calls.replace(of.op, name, *desc, buffers);
    return success();
  }
};

} // namespace
} // namespace stagewright::device
