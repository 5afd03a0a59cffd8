//===- RankDialect.cpp - attributes of other ops, sizes of slots ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Rank/IR/FlowRates.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stagewright::rank;

#include "stagewright/Dialect/Rank/IR/RankDialect.cpp.inc"

#include "stagewright/Dialect/Rank/IR/RankEnums.cpp.inc"

LogicalResult RankDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned index,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kAccumulate &&
      !isa<UnitAttr>(attribute.getValue()))
    return op->emitError() << "'" << kAccumulate << "' of argument " << index
                           << " must be a unit attribute, got "
                           << attribute.getValue();
  return success();
}

LogicalResult RankDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kFlows)
    return verifyFlowRates(op, attribute.getValue());
  bool isPlan = attribute.getName() == kPlan;
  if (!isPlan && attribute.getName() != kKernel)
    return success();
  if (isPlan ? isa<ModuleOp>(op) && isa<PlanAttr>(attribute.getValue())
             : isa<KernelAttr>(attribute.getValue()))
    return success();
  return op->emitError() << attribute.getName() << " must be a '#"
                         << attribute.getName().getValue() << "'"
                         << (isPlan ? " of a module" : "") << ", got "
                         << attribute.getValue();
}

StringRef stagewright::rank::getElementName(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return "bool";
    case 8:
      return isUnsigned ? "u8" : "i8";
    case 16:
      return isUnsigned ? "u16" : "i16";
    case 32:
      return isUnsigned ? "u32" : "i32";
    case 64:
      return isUnsigned ? "u64" : "i64";
    default:
      return "";
    }
  }
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3fn";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  return type.isF32()    ? "f32"
         : type.isF64()  ? "f64"
         : type.isF16()  ? "f16"
         : type.isBF16() ? "bf16"
                         : "";
}

int64_t stagewright::rank::getSlotBytes(ShapedType type) {
  Type element = type.getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

int64_t stagewright::rank::getSlotStride(MemRefType type) {
  return llvm::alignTo(getSlotBytes(type), RankDialect::kAlignment);
}

int64_t stagewright::rank::getSlotCount(int64_t depth, int64_t microbatches) {
  return depth < 0 ? llvm::divideCeil(microbatches, depth / RankDialect::kAll)
                   : std::min(depth, microbatches);
}
