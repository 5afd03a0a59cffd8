//===- Picture.cpp - the simulated step of a plan -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Picture.h"

#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Simulation/WriteTrace.h"
#include "stagewright/Support/Files.h"

namespace stagewright {

/// Names of processors: all devices of a stage that slices its microbatches, or
/// one device if replicas take whole microbatches in turn.
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

namespace {
/// A simulated step.
struct Simulated {
  PipelineModel model;
  PipelineTimeline timeline;
  std::vector<std::string> names; ///< Of processors.
};
} // namespace

static Result<Simulated> simulatePlan(const Problem &problem,
                                      const Network &network, Plan &plan) {
  Simulated step;
  Result<PipelineTimeline> timeline = Error{};
  if (plan.schedule.empty()) {
    step.model = pipelineOf(problem, network, plan);
    step.names = processorNames(problem, plan, step.model);
    timeline = simulatePipeline(step.model, plan.order);
  } else {
    Result<ScheduledPlan> run = scheduled(problem, network, plan);
    if (!run)
      return run.error();
    for (size_t device : run->devices)
      step.names.push_back(problem.cluster.devices[device].name);
    timeline = simulatePipeline(run->model, run->schedule);
    step.model = std::move(run->model);
  }
  if (!timeline)
    return timeline.error();
  step.timeline = std::move(*timeline);
  return step;
}

Status writePictures(const Problem &problem, Plan plan, const std::string &svg,
                     const std::string &trace) {
  if (svg.empty() && trace.empty())
    return {};
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<Simulated> step = simulatePlan(problem, *network, plan);
  if (!step)
    return step.error();
  const auto &[model, timeline, processors] = *step;
  PipelineNames names = {plan.planner + " on " + problem.cluster.name,
                         processors};
  if (!svg.empty())
    if (Status status = writeTextFile(svg, drawSvg(model, timeline, names));
        !status)
      return status;
  if (!trace.empty())
    return writeTextFile(trace, writeTrace(model, timeline, names));
  return {};
}

} // namespace stagewright
