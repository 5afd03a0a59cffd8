//===- Flows.h - certificates of transfers that share links -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far a step whose transfers share links (LinkSharing) can be from the best
// one. Let D be the max number of connections of a link. A flow at its
// guaranteed rate takes at most D times as long as alone on its links, and
// compute takes as long as without transfers; so if the order of the blocks of
// every processor and connection is fixed, every path of dependencies, and so
// the makespan, is at most D times the critical path with all flows alone.
// Max-min fair rates are never below the guaranteed ones, so the same holds for
// them; it does not hold for Fifo.
//
// Source: online execution scheduling of Luo, Bao and Wu (INFOCOM 2022).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_FLOWS_H
#define STAGEWRIGHT_SIMULATION_FLOWS_H

#include "stagewright/Simulation/Pipeline.h"

namespace stagewright {

/// By link: the number of connections that use it.
std::vector<size_t> linkDegrees(const PipelineModel &model);

/// By link: bytes of a step. `model` must have the rates of its links.
std::vector<double> linkBytes(const PipelineModel &model);

struct FlowCertificate {
  LinkSharing sharing = LinkSharing::Oes;
  size_t degree = 1;    ///< D, at least 1.
  Seconds criticalPath; ///< Makespan with all flows alone on their links.
  Seconds linkLoad;     ///< Time of the busiest link at its full rate.
  Seconds makespan;     ///< As simulated.

  /// No policy that keeps the orders of blocks is faster.
  Seconds lowerBound() const { return std::max(criticalPath, linkLoad); }
  /// Proved for all policies except Fifo.
  Seconds upperBound() const { return criticalPath * double(degree); }
  bool isBounded() const { return sharing != LinkSharing::Fifo; }
  /// Whether the makespan is at most the upper bound, apart from rounding.
  bool holds() const { return makespan.value <= upperBound().value * kNearly; }

  static constexpr double kNearly = 1 + 1e-9;
};

/// Simulates `model`, whose links share rates, and certifies the makespan.
/// Fails if check() fails, if collectives slow down compute, or if the order of
/// the blocks on a lane or a processor depends on the rates of flows.
Result<FlowCertificate> certifyFlows(const PipelineModel &model,
                                     ExecutionOrder order);
Result<FlowCertificate> certifyFlows(const PipelineModel &model,
                                     const Schedule &schedule);

/// "12.3 ms; at most 4 x critical path 5.1 ms = 20.4 ms, at least 9.8 ms"; for
/// Fifo "12.3 ms; at least 9.8 ms".
std::string describe(const FlowCertificate &certificate);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_FLOWS_H
