//===- Dataflow.cpp - tasks with traffic, to be placed on machines --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dataflow.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

static constexpr const char *kSlots[] = {"cores", "GPUs", "bytes of memory"};

bool Dataflow::allows(size_t task, size_t machine) const {
  if (tasks[task].machine)
    return *tasks[task].machine == machine;
  auto needs = tasks[task].slots.all(), has = machines[machine].slots.all();
  return std::equal(needs.begin(), needs.end(), has.begin(),
                    std::less_equal<>());
}

static Status checkNumber(double number, const std::string &what,
                          bool positive) {
  if (std::isfinite(number) && (positive ? number > 0 : number >= 0) &&
      number <= double(kMostBytes))
    return {};
  return Error{what + " is " + plainly(number) + "; expected a number " +
               (positive ? "above 0" : "of 0 or more") + ", at most " +
               std::to_string(kMostBytes)};
}

static Status checkSlots(const TaskSlots &slots, const std::string &owner) {
  for (size_t i = 0; i < std::size(kSlots); ++i)
    if (Status status = checkNumber(
            slots.all()[i],
            "the number of " + std::string(kSlots[i]) + " of " + owner, false);
        !status)
      return status;
  return {};
}

Status Dataflow::check() const {
  if (machines.empty() || tasks.empty())
    return Error{"a dataflow needs at least one machine and one task; it has " +
                 std::to_string(machines.size()) + " and " +
                 std::to_string(tasks.size())};
  if (iterations < 1 || iterations > kMostMicrobatches)
    return Error{"expected 1 to " + std::to_string(kMostMicrobatches) +
                 " iterations but got " + std::to_string(iterations)};
  for (const DataflowMachine &machine : machines) {
    std::string name = "machine '" + machine.name + "'";
    for (Bandwidth rate : {machine.out, machine.in})
      if (Status status =
              checkNumber(rate.value, "a bandwidth of " + name, true);
          !status)
        return status;
    if (Status status = checkSlots(machine.slots, name); !status)
      return status;
  }
  for (size_t task = 0; task < tasks.size(); ++task) {
    const DataflowTask &own = tasks[task];
    std::string name = "task '" + own.name + "'";
    if (Status status =
            checkNumber(own.time.value, "the time of " + name, false);
        !status)
      return status;
    if (Status status = checkSlots(own.slots, name); !status)
      return status;
    if (own.machine && *own.machine >= machines.size())
      return Error{name + " is on machine " + std::to_string(*own.machine) +
                   " of " + std::to_string(machines.size())};
    bool fits = false;
    for (size_t machine = 0; machine < machines.size(); ++machine)
      fits |= allows(task, machine);
    if (!fits)
      return Error{name + " fits on no machine: it needs " +
                   plainly(own.slots.cores) + " cores, " +
                   plainly(own.slots.gpus) + " GPUs and " +
                   toString(Bytes(int64_t(own.slots.memory)))};
  }
  for (const DataflowEdge &edge : edges)
    if (std::max(edge.from, edge.to) >= tasks.size() || edge.distance < 0 ||
        edge.bytes.value < 0 || (edge.distance == 0 && edge.from >= edge.to))
      return Error{"an edge goes from task " + std::to_string(edge.from) +
                   " to task " + std::to_string(edge.to) + " with distance " +
                   std::to_string(edge.distance) +
                   "; expected a later one of " + std::to_string(tasks.size()) +
                   " tasks, or a positive distance"};
  return {};
}

Status checkPlacement(const Dataflow &dataflow,
                      const TaskPlacement &placement) {
  std::vector<std::array<double, 3>> used(dataflow.machines.size());
  for (size_t task = 0; task < placement.size(); ++task) {
    if (dataflow.tasks[task].machine &&
        *dataflow.tasks[task].machine != placement[task])
      return Error{"task '" + dataflow.tasks[task].name +
                   "' may only be on machine '" +
                   dataflow.machines[*dataflow.tasks[task].machine].name +
                   "', and is placed on '" +
                   dataflow.machines[placement[task]].name + "'"};
    auto needs = dataflow.tasks[task].slots.all();
    for (size_t i = 0; i < needs.size(); ++i)
      used[placement[task]][i] += needs[i];
  }
  for (size_t machine = 0; machine < used.size(); ++machine) {
    auto has = dataflow.machines[machine].slots.all();
    for (size_t i = 0; i < has.size(); ++i)
      if (used[machine][i] > has[i] * (1 + 1e-9))
        return Error{"the tasks on machine '" +
                     dataflow.machines[machine].name + "' need " +
                     plainly(used[machine][i]) + " " + kSlots[i] + ", it has " +
                     plainly(has[i])};
  }
  return {};
}

PipelineModel pipelineOf(const Dataflow &dataflow,
                         const TaskPlacement &placement, LinkSharing sharing) {
  PipelineModel model;
  model.microbatches = dataflow.iterations;
  model.forwardOnly = true;
  model.sharing = sharing;
  model.numProcessors = dataflow.tasks.size();
  for (size_t task = 0; task < dataflow.tasks.size(); ++task) {
    PipelineStage stage;
    stage.times.forward = dataflow.tasks[task].time;
    stage.processors = {task};
    model.stages.push_back(std::move(stage));
  }
  for (const DataflowMachine &machine : dataflow.machines)
    for (Bandwidth rate : {machine.out, machine.in})
      model.linkRates.push_back(rate.value);
  for (const DataflowEdge &edge : dataflow.edges) {
    PipelineChannel channel;
    channel.from = edge.from;
    channel.to = edge.to;
    channel.distance = edge.distance;
    channel.hasBackward = false;
    channel.forwardLanes = {model.linkRates.size()};
    model.linkRates.push_back(0);
    size_t from = placement[edge.from], to = placement[edge.to];
    if (from != to) {
      channel.forwardShared = {{2 * from, 2 * to + 1}};
      channel.forward = edge.bytes / std::min(dataflow.machines[from].out,
                                              dataflow.machines[to].in);
    }
    model.channels.push_back(std::move(channel));
  }
  model.numLinks = model.linkRates.size();
  return model;
}

Result<PlacedDataflow> evaluatePlacement(const Dataflow &dataflow,
                                         const TaskPlacement &placement,
                                         LinkSharing sharing) {
  if (Status status = checkPlacement(dataflow, placement); !status)
    return status.error();
  Result<FlowCertificate> certificate = certifyFlows(
      pipelineOf(dataflow, placement, sharing), ExecutionOrder::OneFOneB);
  if (!certificate)
    return certificate.error();
  return PlacedDataflow{placement, *certificate, {}};
}

} // namespace stagewright
