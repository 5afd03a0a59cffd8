//===- FlowRates.h - guaranteed rates between ranks -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes per second that a flow schedule guarantees to the messages from one
// rank to another (Simulation/Flows.h), as an attribute of a module of rank
// programs and of its artifact:
//
//   rank.flows = [{from = 0 : i64, rate = 6.0e+06 : f64, to = 1 : i64}]
//
// Each pair of ranks occurs at most once. Pairs that are not listed have no
// rate of their own; they share a host, or exchange no microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_RANK_IR_FLOWRATES_H
#define STAGEWRIGHT_DIALECT_RANK_IR_FLOWRATES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <map>

namespace stagewright::rank {

inline constexpr llvm::StringLiteral kFlows = "rank.flows";

/// By sender and receiver: bytes per second.
using FlowRates = std::map<std::pair<int64_t, int64_t>, double>;

mlir::ArrayAttr writeFlowRates(mlir::MLIRContext *context,
                               const FlowRates &rates);

/// Fails with an error at `op` if `attribute` is not of the form above.
mlir::LogicalResult verifyFlowRates(mlir::Operation *op,
                                    mlir::Attribute attribute);

} // namespace stagewright::rank

#endif // STAGEWRIGHT_DIALECT_RANK_IR_FLOWRATES_H
