//===- RankPlan.cpp - schedule, routes and the nodes of every action ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Scheduling/Replicas.h"

namespace stagewright::torank {

using pipeline::Combine;
using pipeline::Role;

Combine Plan::combineOf(int64_t index) const {
  if (std::optional<Combine> combine = pipeline::combineOf(graph, index))
    return *combine;
  return resultRole(graph, index).value_or(Role::Output) == Role::Output
             ? Combine::Concat
             : Combine::Mean;
}

bool Plan::keepsParts(int64_t index) const {
  if (!averaging || !isAccumulated(index))
    return false;
  pipeline::GraphOp graph = this->graph;
  Type element = getElementTypeOrSelf(graph.getResultTypes()[index]);
  if (resultRole(graph, index) == Role::Gradient || !isa<FloatType>(element) ||
      element.getIntOrFloatBitWidth() < 16)
    return false;
  int64_t parts = 0;
  for (const AccumulatorPlan &part : accumulators) {
    if (part.result != index)
      continue;
    if (sumsOf(index, rankOfStage[part.stage]).count != 1)
      return false;
    ++parts;
  }
  return parts > 1;
}

int64_t Plan::strideOf(int64_t copy) const {
  const std::vector<int64_t> &numbers = microbatchesOf[copy];
  if (pipelines > 1 || numbers.size() < 2)
    return pipelines;
  int64_t stride = numbers[1] - numbers[0];
  for (size_t at = 1; at < numbers.size(); ++at)
    if (numbers[at] - numbers[at - 1] != stride)
      return 1;
  return numbers[0] < stride ? stride : 1;
}

int64_t Plan::microbatchesOfRank(int64_t rank) const {
  return stagewright::microbatchesOf(pipelineOfRank[rank], pipelines,
                                     data.microbatches);
}

std::string Plan::nameOfStage(int64_t stage) const {
  std::string name = std::to_string(stageNumber(stage));
  int64_t copy = stage / numStages;
  return copy == 0 ? name : name + ".copy" + std::to_string(copy);
}

int64_t Plan::originalStage(int64_t stage) const {
  return replicaOf[stageNumber(stage)];
}

int64_t Plan::summingStage(int64_t stage) const {
  for (int64_t other = stageNumber(stage); other < stage; other += numStages)
    if (rankOfStage[other] == rankOfStage[stage])
      return other;
  return stage;
}

SmallVector<ActionKey, 2> Plan::partsOf(const ActionKey &action) const {
  if (action.kind == ActionKind::Backward && splits[stageNumber(action.stage)])
    return {{ActionKind::InputGradient, action.stage},
            {ActionKind::WeightGradient, action.stage}};
  return {action};
}

/// Finds and verifies the only schedule of `module`, its program and graph.
static LogicalResult findSchedule(ModuleOp module, Plan &plan) {
  auto schedules = llvm::to_vector(module.getOps<pipeline::ScheduleOp>());
  if (schedules.size() != 1)
    return emitError(module.getLoc())
           << "needs one 'pipeline.schedule', got " << schedules.size();
  plan.schedule = schedules.front();
  plan.program = pipeline::programOf(plan.schedule);
  plan.graph = pipeline::graphOf(plan.program);
  plan.averaging = plan.program.getAveragingAttr();
  plan.stageOfLayer = pipeline::stageOfLayers(plan.program);
  if (failed(pipeline::verifySchedule(plan.schedule)))
    return failure();
  plan.data = pipeline::readSchedule(plan.schedule);
  if (auto credits = pipeline::ScheduleOp(plan.schedule).getCredits())
    plan.credits = credits->vec();
  plan.stageGraph = pipeline::stageGraphOf(plan.program);
  plan.numStages = plan.data.stages;
  for (auto stage :
       pipeline::ProgramOp(plan.program).getOps<pipeline::StageOp>()) {
    auto facts = stage->getAttrOfType<DenseI64ArrayAttr>("replica_of");
    int64_t number = plan.replicaOf.size();
    plan.replicaOf.push_back(facts && !facts.empty() ? -1 - facts[0] : number);
    int64_t turns = stage.getDevices().size();
    plan.sharesOfStages.push_back(
        facts ? std::pair(facts[1], Plan::Share{facts[3], facts[4], false})
              : std::pair(int64_t(0), Plan::Share{1, turns, turns > 1}));
  }
  plan.splits.assign(plan.numStages, false);
  for (const Order &order : plan.data.ranks)
    for (const Action &action : order)
      if (action.kind == ActionKind::InputGradient ||
          action.kind == ActionKind::WeightGradient)
        plan.splits[action.stage] = true;
  return success();
}

/// Checks that each result that is not summed has only one part.
static LogicalResult checkParts(const Plan &plan) {
  auto yield = cast<pipeline::YieldOp>(
      pipeline::GraphOp(plan.graph).getBody().front().getTerminator());
  for (int64_t result : yield.getResults())
    if (!plan.isAccumulated(result) &&
        llvm::count(yield.getResults(), result) > 1)
      return emitError(pipeline::GraphOp(plan.graph).getLoc())
             << "result " << result << " comes in parts and is combined by \""
             << stringifyCombine(plan.combineOf(result))
             << "\"; parts are summed once per step, use \"mean\" or \"sum\"";
  return success();
}

/// The action that runs `node`; none if the schedule does not have it.
static std::optional<ActionKey> findAction(const Plan &plan,
                                           pipeline::NodeOp node) {
  int64_t stage = plan.stageOfLayer[node.getLayer()];
  int64_t copy = plan.copyOf.lookup(node) * plan.numStages + stage;
  switch (node.getPhase()) {
  case ActionKind::Forward:
    return ActionKey{ActionKind::Forward, copy};
  case ActionKind::Recompute:
    return ActionKey{ActionKind::Recompute, copy};
  case ActionKind::InputGradient:
    return ActionKey{plan.splits[stage] ? ActionKind::InputGradient
                                        : ActionKind::Backward,
                     copy};
  case ActionKind::WeightGradient:
    return ActionKey{plan.splits[stage] ? ActionKind::WeightGradient
                                        : ActionKind::Backward,
                     copy};
  case ActionKind::Backward:
    if (plan.splits[stage])
      return std::nullopt;
    return ActionKey{ActionKind::Backward, copy};
  case ActionKind::Update: // node_c5
    break;
  }
  return std::nullopt;
}

/// Assigns every node to its action: forwards and recomputed forwards by
/// increasing layer, others by decreasing layer. This order respects the edges
/// of the graph (graph_c3, graph_c4); nodes of one layer keep the order of the
/// graph.
static LogicalResult assignNodes(Plan &plan) {
  for (auto node : plan.graph.getBody().front().getOps<pipeline::NodeOp>()) {
    if (!node.getCallee())
      return emitError(node.getLoc())
             << "node '" << node.getNodeName()
             << "' has no body; a graph of costs alone can "
             << "be planned but not run";
    std::optional<ActionKey> key = findAction(plan, node);
    if (!key)
      return emitError(node.getLoc())
             << "node '" << node.getNodeName()
             << "' of phase B has no action: '" << plan.schedule.getKind()
             << "' runs I and W of stage " << plan.stageOfLayer[node.getLayer()]
             << " apart; form the graph without pipeline-merge-backward";
    plan.keys[node] = *key;
    plan.actions[*key].nodes.push_back({node, {}, {}, 0});
  }
  for (auto &[key, action] : plan.actions) {
    bool forward =
        key.kind == ActionKind::Forward || key.kind == ActionKind::Recompute;
    llvm::stable_sort(action.nodes, [&](const NodePlan &a, const NodePlan &b) {
      int64_t left = pipeline::NodeOp(a.node).getLayer();
      int64_t right = pipeline::NodeOp(b.node).getLayer();
      return forward ? left < right : left > right;
    });
  }
  return success();
}

FailureOr<Plan> readSchedule(ModuleOp module) {
  Plan plan;
  if (failed(findSchedule(module, plan)) || failed(checkParts(plan)))
    return failure();
  makeRoutes(plan);
  if (failed(assignNodes(plan)))
    return failure();
  readOrders(plan);
  return plan;
}

} // namespace stagewright::torank
