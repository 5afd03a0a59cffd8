//===- Slots.h - depths and types of slots ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_RANK_IR_SLOTS_H
#define STAGEWRIGHT_DIALECT_RANK_IR_SLOTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace stagewright::rank {

/// A depth as in the assembly: a number, "all", or "all by 4" for every fourth
/// microbatch.
std::string depthText(int64_t depth);

/// Checks channel_c4 and buffer_c5: the type of a slot.
mlir::LogicalResult verifySlotType(mlir::Operation *op, mlir::MemRefType type);

} // namespace stagewright::rank

#endif // STAGEWRIGHT_DIALECT_RANK_IR_SLOTS_H
