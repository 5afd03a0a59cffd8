//===- Picture.cpp - the simulated step of a plan -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Picture.h"

#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Simulation/WriteTrace.h"
#include "stagewright/Support/Files.h"

namespace stagewright {

/// Processors are called by their devices: all of a stage that slices its
/// microbatches, one where replicas take whole ones in turn.
static std::vector<std::string> processorNames(const Problem &problem,
                                               const Plan &plan,
                                               const PipelineModel &model) {
  std::vector<std::string> names(model.numProcessors);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const std::vector<size_t> &devices = plan.stages[s].devices;
    const std::vector<size_t> &processors = model.stages[s].processors;
    for (size_t i = 0; i < processors.size(); ++i)
      names[processors[i]] = processors.size() == 1
                                 ? joinedNames(problem.cluster, devices)
                                 : problem.cluster.devices[devices[i]].name;
  }
  return names;
}

Status writePictures(const Problem &problem, Plan plan, const std::string &svg,
                     const std::string &trace) {
  if (svg.empty() && trace.empty())
    return {};
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  PipelineModel model = pipelineOf(problem, *network, plan);
  Result<PipelineTimeline> timeline = simulatePipeline(model, plan.order);
  if (!timeline)
    return timeline.error();
  PipelineNames names = {plan.planner + " on " + problem.cluster.name,
                         processorNames(problem, plan, model)};
  if (!svg.empty())
    if (Status status = writeTextFile(svg, drawSvg(model, *timeline, names));
        !status)
      return status;
  if (!trace.empty())
    return writeTextFile(trace, writeTrace(model, *timeline, names));
  return {};
}

} // namespace stagewright
