//===- LoopCost.cpp - estimated time of a loop ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopCost.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace stagewright::host {

/// Nanoseconds of one operation on a vector, and of one on a scalar: on average
/// the vectorizer combines eight of the latter.
static constexpr double kVectorOperation = 0.15, kScalarOperation = 0.02;
/// Bytes per nanosecond from and to memory, mostly the L2 or L3 cache; terms
/// (multiply-adds) of a contraction per nanosecond.
static constexpr double kBytesPerNanosecond = 30, kTermsPerNanosecond = 60;
/// Assumed iterations of a loop whose bounds are not constant.
static constexpr int64_t kUnknownTurns = 16;

std::optional<int64_t> turnsOf(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return std::nullopt;
  return std::max<int64_t>(0, (*upper - *lower + *step - 1) / *step);
}

static double bytesLoaded(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return double(vector.getNumElements()) *
           bytesLoaded(vector.getElementType());
  return type.isIntOrFloat() ? double(type.getIntOrFloatBitWidth()) / 8 : 8;
}

/// The terms of a product or of a convolution.
static double termsOf(const sw_gemm_desc &desc) {
  return double(desc.m) * double(desc.n) * double(desc.k) *
         double(desc.batch[0]) * double(desc.batch[1]);
}

static double termsOf(const sw_convolution_desc &desc) {
  auto terms = double(desc.columns);
  for (int i = 0; i < 3; ++i)
    terms *= double(desc.rows[i]) * double(desc.sum[i]);
  return terms;
}

/// Nanoseconds of a call of sw_gemm or sw_convolution, whose descriptor, a
/// `Desc`, is a constant.
template <typename Desc>
static double ofContraction(LLVM::CallOp call, SymbolTable &symbols) {
  auto address = call.getOperand(0).getDefiningOp<LLVM::AddressOfOp>();
  auto global = address
                    ? symbols.lookup<LLVM::GlobalOp>(address.getGlobalName())
                    : LLVM::GlobalOp();
  auto words =
      global ? dyn_cast_if_present<DenseElementsAttr>(global.getValueOrNull())
             : DenseElementsAttr();
  Desc desc;
  if (!words || words.getRawData().size() != sizeof(desc))
    return 0;
  std::memcpy(&desc, words.getRawData().data(), sizeof(desc));
  return termsOf(desc) / kTermsPerNanosecond;
}

static double ofOperation(Operation &op, SymbolTable &symbols) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return double(turnsOf(loop).value_or(kUnknownTurns)) *
           nanosecondsOf(*loop.getBody(), symbols);
  if (op.getNumRegions() != 0) {
    double most = 0; // only one branch runs
    for (Region &region : op.getRegions())
      for (Block &block : region)
        most = std::max(most, nanosecondsOf(block, symbols));
    return most;
  }
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return call.getCallee() == "sw_gemm"
               ? ofContraction<sw_gemm_desc>(call, symbols)
           : call.getCallee() == "sw_convolution"
               ? ofContraction<sw_convolution_desc>(call, symbols)
               : 0;
  if (auto access = dyn_cast<MemoryEffectOpInterface>(op)) {
    if (access.hasEffect<MemoryEffects::Write>())
      return bytesLoaded(op.getOperand(0).getType()) / kBytesPerNanosecond;
    if (access.hasEffect<MemoryEffects::Read>() && op.getNumResults() == 1)
      return bytesLoaded(op.getResult(0).getType()) / kBytesPerNanosecond;
  }
  bool computes = llvm::any_of(op.getResultTypes(), [](Type type) {
    return isa<FloatType, VectorType>(type);
  });
  bool vector = llvm::any_of(op.getResultTypes(), llvm::IsaPred<VectorType>);
  return !computes ? 0 : vector ? kVectorOperation : kScalarOperation;
}

double nanosecondsOf(Block &block, SymbolTable &symbols) {
  double sum = 0;
  for (Operation &op : block)
    sum += ofOperation(op, symbols);
  return sum;
}

} // namespace stagewright::host
