//===- RankDialect.cpp - types and sizes of slots -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stagewright::rank;

#include "stagewright/Dialect/Rank/IR/RankDialect.cpp.inc"

#include "stagewright/Dialect/Rank/IR/RankEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "stagewright/Dialect/Rank/IR/RankTypes.cpp.inc"

void RankDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "stagewright/Dialect/Rank/IR/RankTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "stagewright/Dialect/Rank/IR/RankOps.cpp.inc"
      >();
}

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

int64_t stagewright::rank::getSlotBytes(MemRefType type) {
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
