//===- ContractionsToCalls.cpp - products as calls of the runtime ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Conversion/BodiesToKernels/ContractionCalls.h"
#include "stagewright/Conversion/BodiesToKernels/LibraryCalls.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTCONTRACTIONSTOCALLS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

struct HostContractionsToCallsPass
    : impl::HostContractionsToCallsBase<HostContractionsToCallsPass> {
  void runOnOperation() override {
    bodies::LibraryCalls calls(getOperation());
    SmallVector<rank::ContractOp> contractions;
    getOperation().walk(
        [&](rank::ContractOp op) { contractions.push_back(op); });
    for (rank::ContractOp op : contractions)
      if (failed(lower(op, calls)))
        return signalPassFailure();
  }

  LogicalResult lower(rank::ContractOp op, bodies::LibraryCalls &calls) {
    Type element = getElementTypeOrSelf(op.getWritten());
    if (op.getEpilogue())
      return op->emitError() << "contraction for the host must not have an "
                                "epilogue";
    for (Value operand : op->getOperands())
      if (getElementTypeOrSelf(operand) != element ||
          (!element.isF32() && !element.isF64()))
        return op->emitError()
               << "contraction must be in f32 or f64 throughout, but got "
               << operand.getType();
    Location loc = op.getLoc();
    auto emit = [&](OpBuilder &builder, const bodies::ContractionDesc &call,
                    ArrayRef<Value> pointers) {
      bool product = std::holds_alternative<sw_gemm_desc>(call);
      StringRef name = product ? "sw_gemm" : "sw_convolution";
      std::visit(
          [&](auto desc) {
            desc.dtype = element.isF32() ? SW_F32 : SW_F64;
            calls.create(builder, loc, name, /*rank=*/{}, desc, pointers);
          },
          call);
    };
    return bodies::lowerToCalls(op, emit);
  }
};

} // namespace
} // namespace stagewright::host
