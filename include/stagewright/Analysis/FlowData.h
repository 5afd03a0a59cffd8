//===- FlowData.h - flows between the hosts of a program --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transfers of a program as flows that share NICs (Simulation/Flows.h), as
// attributes:
//
//   pipeline.flows = [{bytes = 4096 : i64, from = 0 : i64, from_host = 0 : i64,
//                      rate = 1.0e+09 : f64, to = 1 : i64, to_host = 1 : i64}]
//   pipeline.nics = [{host = 0 : i64, in = 1 : i64, out = 1 : i64}, ...]
//   pipeline.degree = 1 : i64
//   pipeline.flow_schedule = {critical_path = ..., degree = ..., link_load =
//                             ..., makespan = ..., policy = "oes"}
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_FLOWDATA_H
#define STAGEWRIGHT_ANALYSIS_FLOWDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Simulation/Flows.h"

namespace stagewright::pipeline {

inline constexpr llvm::StringLiteral kFlows = "pipeline.flows";
inline constexpr llvm::StringLiteral kNics = "pipeline.nics";
inline constexpr llvm::StringLiteral kDegree = "pipeline.degree";
inline constexpr llvm::StringLiteral kFlowSchedule = "pipeline.flow_schedule";

/// Writes the connections between hosts and the degrees of NICs on `program`,
/// with guaranteed rates if `withRates`. Returns the number of connections;
/// located errors if costs are unknown or the placement is twin.
mlir::FailureOr<int64_t> writeFlows(ProgramOp program, bool withRates);

/// The certificate of `schedule`, which must verify. Fails with a located error
/// like writeFlows(), or if the order of transfers or actions depends on the
/// rates of flows (Simulation/Flows.h).
mlir::FailureOr<FlowCertificate> certifyFlows(ScheduleOp schedule,
                                              LinkSharing sharing);

/// Writes the certificate on `schedule`.
void writeCertificate(ScheduleOp schedule, const FlowCertificate &certificate,
                      LinkSharing sharing);

/// Recomputes the certificate on `schedule`, if there is one; located errors if
/// a number differs by more than rounding.
mlir::LogicalResult verifyFlows(ScheduleOp schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_FLOWDATA_H
