//===- PlanOptions.h - the command line of pp-plan --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_PLAN_PLANOPTIONS_H
#define STAGEWRIGHT_TOOLS_PP_PLAN_PLANOPTIONS_H

#include "stagewright/Planning/Planners.h"

namespace CLI {
class App;
} // namespace CLI

namespace stagewright {

struct PlanOptions {
  std::vector<std::string> files;
  std::string format, cluster, memory, profile, layers, annotate,
      target = "host";
  std::vector<int64_t> microbatches; ///< One per file, or none.

  std::string planner, plan, schedule = "auto", placement;
  std::optional<int64_t> chunks;
  std::vector<std::string> orders;
  std::optional<int64_t> stages, maxReplicas, samples;
  std::optional<int64_t> recomputeLevel;
  bool recompute = true;
  std::string offload = "auto";
  CostModel model;
  std::string tensorParallel; ///< "auto", a number of shards, or empty.
  std::string shardHints;
  bool repeatsLayers = false;        ///< --recompute-layers
  std::vector<std::string> searches; ///< Drivers; empty: `planner`.
  std::optional<int64_t> evaluations, seed;
  std::optional<double> seconds, beta;
  std::string policy; ///< Of a dataflow; empty: oes.
  std::string searchLog, searchSvg;
  /// The planner whose plan searches start from, or none; empty: spp.
  std::string searchStart;
  /// The number in `tensorParallel`, at least 2; none if it has none.
  std::optional<int64_t> shards() const;

  bool json = false, explain = false, uniform = false;
  bool explainLayouts = false;
  std::string output = "-", svg, trace;
  bool listClusters = false, listPlanners = false;
};

/// Declares the options and the text of --help.
void declareOptions(CLI::App &app, PlanOptions &options);

/// Writes the options into `problem`; `file` is the input's number, from 0.
Status applyOptions(const PlanOptions &options, size_t file, Problem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_PLAN_PLANOPTIONS_H
