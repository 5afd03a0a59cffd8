//===- CallContractions.cpp - products as calls of the library ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogues.h"
#include "stagewright/Conversion/BodiesToKernels/ContractionCalls.h"
#include "stagewright/Conversion/BodiesToKernels/LibraryCalls.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICECALLCONTRACTIONS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

struct DeviceCallContractionsPass
    : impl::DeviceCallContractionsBase<DeviceCallContractionsPass> {
  using DeviceCallContractionsBase::DeviceCallContractionsBase;

  void runOnOperation() override {
    bodies::LibraryCalls calls(getOperation());
    SmallVector<rank::ContractOp> ops;
    getOperation().walk([&](rank::ContractOp op) { ops.push_back(op); });
    for (rank::ContractOp op : ops)
      if (failed(call(op, calls)))
        return signalPassFailure();
  }

  /// The descriptor of the library call, without the product itself.
  sw_contraction_desc describe(rank::ContractOp op) {
    auto typeOf = [](Value buffer) {
      return bodies::dtypeOf(getElementTypeOrSelf(buffer));
    };
    sw_contraction_desc desc = {};
    desc.a_dtype = typeOf(op.getLhs());
    desc.b_dtype = typeOf(op.getRhs());
    int32_t dtype = typeOf(op.getWritten());
    desc.tf32 = tf32 && desc.a_dtype == SW_F32 && desc.b_dtype == SW_F32 &&
                dtype == SW_F32;
    desc.epilogue = op.getEpilogue() ? int32_t(*op.getEpilogue())
                                     : int32_t(SW_EPILOGUE_NONE);
    desc.otherwise = isa_and_nonnull<rank::OtherwiseOp>(op->getNextNode());
    if (op.getBias())
      desc.bias_dtype = typeOf(op.getBias());
    if (op.getAux())
      desc.aux_dtype = typeOf(op.getAux());
    return desc;
  }

  LogicalResult call(rank::ContractOp op, bodies::LibraryCalls &calls) {
    if (op.isConvolution())
      return op->emitError("is a convolution; the device's library takes "
                           "'rank.convolve'");
    for (Type type : op->getOperandTypes())
      if (bodies::dtypeOf(getElementTypeOrSelf(type)) < 0)
        return op->emitError("has operands of type ")
               << type << ", which the device's library does not multiply";
    if (op.getEpilogue() && !isOneProduct(op))
      return op->emitError("has an epilogue, but is several products");
    auto function = op->getParentOfType<FunctionOpInterface>();
    if (function.getNumArguments() == 0 ||
        !isa<LLVM::LLVMPointerType>(function.getArgumentTypes()[0]))
      return op->emitError("needs the rank as the first argument of its "
                           "function; run device-pass-rank first");
    OpBuilder before(op);
    Location loc = op.getLoc();
    Value none = LLVM::ZeroOp::create(
        before, loc, LLVM::LLVMPointerType::get(&getContext()));
    Value bias = op.getBias() ? bodies::addressOf(before, op.getBias()) : none;
    Value aux = op.getAux() ? bodies::addressOf(before, op.getAux()) : none;
    Value rank = bodies::LibraryCalls::rankOf(op);
    sw_contraction_desc all = describe(op);
    int32_t dtype = bodies::dtypeOf(getElementTypeOrSelf(op.getWritten()));
    auto emit = [&](OpBuilder &builder, const bodies::ContractionDesc &product,
                    ArrayRef<Value> pointers) {
      sw_contraction_desc desc = all;
      desc.gemm = std::get<sw_gemm_desc>(product);
      desc.gemm.dtype = dtype;
      desc.aux_row = op.getAux() ? desc.gemm.n : 0;
      SmallVector<Value> buffers(pointers);
      buffers.append({bias, aux});
      calls.create(builder, loc, "sw_contract", rank, desc, buffers);
    };
    return bodies::lowerToCalls(op, emit);
  }
};

} // namespace
} // namespace stagewright::device
