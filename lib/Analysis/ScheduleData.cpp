//===- ScheduleData.cpp - schedules from files, and their times -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/ScheduleData.h"
#include "mlir/IR/Diagnostics.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Dialect/Silence.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Scheduling/Replicas.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Support/Files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

namespace stagewright::pipeline {

FailureOr<Schedule> readScheduleFile(Location loc, StringRef path) {
  Result<std::string> text = readTextFile(path.str());
  if (!text)
    return emitError(loc) << text.error().message;
  Result<TorchCsv> csv = readTorchCsv(*text);
  if (!csv)
    return emitError(loc) << path << ": " << csv.error().message;
  Schedule schedule = std::move(csv->schedule);
  auto firstStage = [](const Order &order) {
    int64_t first = order.front().stage;
    for (const Action &action : order)
      first = std::min(first, action.stage);
    return first;
  };
  std::stable_sort(schedule.ranks.begin(), schedule.ranks.end(),
                   [&](const Order &a, const Order &b) {
                     return firstStage(a) < firstStage(b);
                   });
  return schedule;
}

FailureOr<StagePlacement> placementOf(Location loc, const Schedule &schedule) {
  std::vector<std::vector<int64_t>> ranks(schedule.stages);
  for (auto [rank, order] : llvm::enumerate(schedule.ranks))
    for (const Action &action : order)
      if (!llvm::is_contained(ranks[action.stage], int64_t(rank)))
        ranks[action.stage].push_back(int64_t(rank));
  // If a stage is on the rank of its own number, list that rank first.
  for (auto [stage, of] : llvm::enumerate(ranks))
    if (auto first = llvm::find(of, int64_t(stage)); first != of.end())
      std::rotate(of.begin(), first, first + 1);
  Result<StagePlacement> where = stagewright::placementOf(ranks);
  if (!where)
    return emitError(loc) << where.error().message;
  return *where;
}

bool splitsBackward(const Schedule &schedule) {
  return runs(schedule, ActionKind::InputGradient) ||
         runs(schedule, ActionKind::WeightGradient);
}

/// For example "makespan 27 us, at least 26 us placed linear (fill and drain,
/// rank 0): gap 3.85 %".
static std::string describeOne(const char *what, Seconds value,
                               const LowerBound &bound, Placement placement) {
  double gap = bound.value.value > 0
                   ? 100 * std::max(value.value / bound.value.value - 1, 0.0)
                   : 0;
  return llvm::formatv("{0} {1}, at least {2} placed {3} ({4}, rank {5}): gap "
                       "{6:F2} %",
                       what, precisely(value), precisely(bound.value),
                       toString(placement), bound.reason, bound.rank, gap);
}

std::string describe(const Timeline &timing, const LowerBounds &bounds,
                     Placement placement) {
  Seconds work;
  for (Seconds rank : timing.work)
    work = std::max(work, rank);
  return describeOne("makespan", timing.makespan, bounds.makespan, placement) +
         "; " + describeOne("span", timing.span, bounds.span, placement) +
         "; m*T of the busiest rank " + precisely(work);
}

/// The problem of `program`; fails without an error if scheduleProblemOf()
/// fails, for example because costs are unknown.
static FailureOr<ScheduleProblem> knownProblemOf(ProgramOp program) {
  Silence silence(program.getContext());
  return scheduleProblemOf(program);
}

/// The number of pipelines that run in parallel on `ranks`.
static int64_t countPipelines(const ReplicaRanks &ranks) {
  return areReplicas(ranks) ? pipelinesOf(ranks) : 1;
}

/// The schedule of pipeline `number`, or `schedule` if there is only one.
static Schedule pickPipeline(const Schedule &schedule,
                             const ReplicaRanks &ranks, int64_t number) {
  return countPipelines(ranks) > 1 ? oneOf(schedule, ranks, number) : schedule;
}

/// The seconds of a step, and by rank those of its actions; fails without an
/// error if costs are unknown or the schedule cannot be timed.
static FailureOr<std::pair<Seconds, std::vector<double>>>
timeRanks(ProgramOp program, const Schedule &schedule) {
  FailureOr<ScheduleProblem> problem = knownProblemOf(program);
  if (failed(problem))
    return failure();
  std::vector<double> work(schedule.ranks.size(), 0);
  Seconds makespan;
  ReplicaRanks all = ranksOfStages(program);
  int64_t pipelines = countPipelines(all);
  for (int64_t k = 0; k < pipelines; ++k) {
    Schedule one = pickPipeline(schedule, all, k);
    problem->microbatches = one.microbatches;
    Result<Timeline> timing = timeSchedule(one, *problem);
    if (!timing)
      return failure();
    makespan = std::max(makespan, timing->makespan);
    std::vector<int64_t> ranks = ranksOfPipeline(all, k);
    for (auto [place, own] : llvm::enumerate(timing->work))
      work[pipelines == 1 ? place : ranks[place]] = own.value;
  }
  return std::pair(makespan, work);
}

std::vector<double> idleShares(ProgramOp program, const Schedule &schedule) {
  auto times = timeRanks(program, schedule);
  if (failed(times) || times->first.value <= 0)
    return {};
  for (double &share : times->second)
    share = 1 - share / times->first.value;
  return times->second;
}

FailureOr<AveragingTimes> averagingTimes(ProgramOp program,
                                         const Schedule &schedule) {
  auto step = timeRanks(program, schedule);
  if (failed(step))
    return program.emitOpError()
           << "has no costs from which a step's time can be predicted; run "
           << "pipeline-estimate-cost with the cluster's rates or a profile";
  Cluster cluster = readCluster(clusterOf(program));
  Result<Network> network = Network::create(cluster);
  if (!network)
    return emitError(clusterOf(program).getLoc()) << network.error().message;
  llvm::StringMap<size_t> numberOf;
  for (auto [number, device] : llvm::enumerate(cluster.devices))
    numberOf[device.name] = number;
  GraphOp graph = graphOf(program);
  auto yield = cast<YieldOp>(graph.getBody().front().getTerminator());
  SmallVector<int64_t> stageOfLayer = stageOfLayers(program);
  AveragingTimes times = {Seconds(), step->first};
  for (StageOp stage : program.getBody().front().getOps<StageOp>()) {
    int64_t bytes = 0;
    for (auto [value, result] :
         llvm::zip(yield.getOperands(), yield.getResults())) {
      auto node = value.getDefiningOp<NodeOp>();
      auto type = cast<RankedTensorType>(value.getType());
      if (resultRole(graph, result) == Role::Gradient && node &&
          stageOfLayer[node.getLayer()] == int64_t(stage.getIndex()))
        bytes += type.getNumElements() *
                 llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    }
    std::vector<size_t> devices;
    for (auto device : stage.getDevices().getAsRange<FlatSymbolRefAttr>())
      devices.push_back(numberOf[device.getValue()]);
    times.allReduce = std::max(times.allReduce,
                               allReduceTime(*network, devices, Bytes(bytes)));
  }
  return times;
}

std::string describeTimes(ProgramOp program, const Schedule &schedule) {
  FailureOr<ScheduleProblem> problem = knownProblemOf(program);
  if (failed(problem))
    return "";
  ReplicaRanks ranks = ranksOfStages(program);
  Schedule one = pickPipeline(schedule, ranks, 0);
  problem->microbatches = one.microbatches;
  Result<Timeline> timing = timeSchedule(one, *problem);
  if (!timing)
    return "";
  // A bound for orders that may split backwards holds for all orders.
  Result<LowerBounds> bounds = lowerBoundsOf(one, *timing, *problem);
  if (!bounds)
    return bounds.error().message;
  double most = *llvm::max_element(timing->peaks);
  std::string text = describe(*timing, *bounds, problem->placement);
  if (int64_t pipelines = countPipelines(ranks); pipelines > 1)
    text += llvm::formatv(
        "; these are of the first of {0} pipelines side by side", pipelines);
  if (most > problem->memory)
    text += llvm::formatv(
        "; the bounds are for orders with as much memory as this "
        "one, which takes {0:F0} % of what the devices have for activations",
        100 * most / problem->memory);
  return text;
}

} // namespace stagewright::pipeline
