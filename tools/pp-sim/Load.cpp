//===- Load.cpp - simulates a plan in IR ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Load.h"
#include "Measured.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Target/Profile.h"

using namespace mlir;

namespace stagewright {

static LogicalResult fail(Location loc, const Error &error) {
  InFlightDiagnostic diagnostic = emitError(loc, error.message);
  for (const std::string &note : error.notes)
    diagnostic.attachNote() << note;
  return diagnostic;
}

/// The only operation of type `Op`; null if there is none. Fails if there are
/// several.
template <typename Op> static FailureOr<Op> findOne(ModuleOp module) {
  Op found;
  for (Op op : module.getOps<Op>()) {
    if (found) {
      InFlightDiagnostic diagnostic =
          emitError(op.getLoc())
          << "one " << Op::getOperationName() << " can be simulated, @"
          << op.getSymName() << " is the second; keep one";
      diagnostic.attachNote(found.getLoc()) << "the first is here";
      return failure();
    }
    found = op;
  }
  return found;
}

static LogicalResult readPlan(pipeline::ProgramOp program,
                              const SimulationOptions &options,
                              Simulation &simulation) {
  Location loc = program.getLoc();
  // Twins of a stage take microbatches in opposite directions; replicas in the
  // model of this simulation have one direction.
  Result<StagePlacement> where = placementOf(pipeline::ranksOfStages(program));
  if (where && where->placement == Placement::Twin)
    return emitError(loc)
           << "stages on two devices each (placement twin) cannot be simulated "
              "with their links yet; pp-compile prints what their schedule "
           << "takes, and pp-sim --schedule=dualpipe --ranks=" << where->ranks
           << " simulates one without a model";
  FailureOr<Problem> problem =
      problemOf(pipeline::graphOf(program),
                pipeline::readCluster(pipeline::clusterOf(program)));
  if (failed(problem))
    return failure();
  simulation.problem = std::move(*problem);
  simulation.problem.microbatches =
      options.microbatches.value_or(program.getMicrobatches());
  simulation.problem.model.halfDuplex = !options.fullDuplex;
  simulation.problem.model.sharedNics = !options.noNic;
  simulation.problem.model.sharing = options.sharing;
  if (Status status = simulation.problem.check(); !status)
    return fail(loc, status.error());
  Result<Network> network = Network::create(simulation.problem.cluster);
  if (!network)
    return fail(loc, network.error());
  simulation.plan = planOf(program);
  simulation.model = pipelineOf(simulation.problem, *network, simulation.plan);
  simulation.model.collectiveSlowdown = options.collectiveSlowdown;
  if (Status status = simulation.model.check(); !status)
    return fail(loc, status.error());
  return success();
}

/// Reads the schedule of the file, regenerated if the number of microbatches
/// differs.
static LogicalResult readSchedule(pipeline::ScheduleOp op,
                                  Simulation &simulation) {
  if (failed(pipeline::verifySchedule(op)))
    return failure();
  simulation.schedule = pipeline::readSchedule(op);
  if (simulation.schedule->microbatches != simulation.problem.microbatches) {
    FailureOr<ScheduleFamily> family = pipeline::familyOf(op);
    if (failed(family))
      return failure();
    simulation.schedule = (*family)(simulation.problem.microbatches);
  }
  return success();
}

/// Replaces the times of the plan by those of the profile.
static LogicalResult readProfile(Location loc, const std::string &path,
                                 Simulation &simulation) {
  if (path.empty())
    return success();
  Result<Profile> profile = loadProfile(path);
  if (!profile)
    return fail(loc, profile.error());
  Status status = applyProfile(*profile, path, simulation);
  return status ? success() : fail(loc, status.error());
}

/// Simulates the schedule or order that `order` names. If it is empty: the
/// file's schedule, else the fastest order.
static LogicalResult simulate(Location loc, const std::string &order,
                              Simulation &simulation) {
  Result<PipelineTimeline> timeline = Error{};
  if (simulation.schedule && (order.empty() || order == "schedule")) {
    simulation.order = "schedule " + simulation.schedule->kind;
    timeline = simulatePipeline(simulation.model, *simulation.schedule);
  } else if (order == "schedule") {
    return emitError(loc) << "there is no pipeline.schedule to simulate; make "
                             "one with pp-opt -pipeline-schedule, or name an "
                             "order";
  } else {
    ExecutionOrder chosen = ExecutionOrder::Window;
    if (!order.empty()) {
      Result<ExecutionOrder> parsed = parseExecutionOrder(order);
      if (!parsed)
        return fail(loc, parsed.error());
      chosen = *parsed;
    } else {
      Seconds best = makespanOf(simulation.model, chosen);
      for (ExecutionOrder other : allExecutionOrders())
        if (Seconds time = makespanOf(simulation.model, other); time < best) {
          best = time;
          chosen = other;
        }
    }
    simulation.order = toString(chosen) + std::string(" order");
    simulation.plan.order = chosen;
    timeline = simulatePipeline(simulation.model, chosen);
  }
  if (!timeline)
    return fail(loc, timeline.error());
  simulation.timeline = std::move(*timeline);
  return success();
}

/// Replicas that take turns have one processor each; those that share each
/// microbatch have one processor together.
static void findDevices(Simulation &simulation) {
  for (const auto &blocks : simulation.timeline.processors) {
    std::set<size_t> &own = simulation.devices.emplace_back();
    for (const PipelineBlock &block : blocks) {
      const std::vector<size_t> &devices =
          simulation.plan.stages[block.number].devices;
      size_t lanes = simulation.model.stages[block.number].processors.size();
      if (lanes == 1)
        own.insert(devices.begin(), devices.end());
      else
        own.insert(devices[block.microbatch % lanes]);
    }
    simulation.names.processors.push_back(
        joinedNames(simulation.problem.cluster, {own.begin(), own.end()}));
  }
}

static std::string titleOf(const Simulation &simulation) {
  size_t stages = simulation.plan.stages.size();
  return std::to_string(stages) + (stages == 1 ? " stage" : " stages") +
         " on " + simulation.problem.cluster.name + ", " + simulation.order;
}

FailureOr<Simulation> simulateModule(ModuleOp module,
                                     const SimulationOptions &options) {
  auto program = findOne<pipeline::ProgramOp>(module);
  auto schedule = findOne<pipeline::ScheduleOp>(module);
  if (failed(program) || failed(schedule))
    return failure();
  if (!*program) {
    emitError(module.getLoc())
        << "there is no pipeline.program to simulate; make one with pp-opt "
           "-pipeline-partition";
    return failure();
  }
  Simulation simulation;
  if (failed(readPlan(*program, options, simulation)) ||
      (*schedule && failed(readSchedule(*schedule, simulation))))
    return failure();
  if (failed(readProfile(program->getLoc(), options.profile, simulation)))
    return failure();
  if (failed(simulate(*schedule ? schedule->getLoc() : program->getLoc(),
                      options.order, simulation)))
    return failure();
  findDevices(simulation);
  simulation.names.title = titleOf(simulation);
  return simulation;
}

} // namespace stagewright
