//===- Plan.cpp - stages, ranks and the nodes of every action -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "stagewright/Analysis/PlanData.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::torank;

StringRef Plan::combineOf(int64_t index) const {
  using pipeline::PipelineDialect;
  auto graph = const_cast<pipeline::GraphOp &>(this->graph);
  if (auto combine = graph.getResultAttrOfType<StringAttr>(
          index, PipelineDialect::kCombine))
    return combine.getValue();
  auto role =
      graph.getResultAttrOfType<StringAttr>(index, PipelineDialect::kRole);
  return role && role.getValue() != "output" ? "mean" : "concat";
}

/// The one schedule of `module`, with its program and graph.
static LogicalResult findSchedule(ModuleOp module, Plan &plan) {
  auto schedules = llvm::to_vector(module.getOps<pipeline::ScheduleOp>());
  if (schedules.size() != 1)
    return emitError(module.getLoc())
           << "needs one 'pipeline.schedule', got " << schedules.size();
  plan.schedule = schedules.front();
  plan.program = pipeline::programOf(plan.schedule);
  plan.graph = pipeline::graphOf(plan.program);
  plan.stageOfLayer = pipeline::stageOfLayers(plan.program);
  return success();
}

/// Which rank runs which stage, and its loops. Only a generator knows the order
/// for another number of microbatches, so the schedule must be one's.
static LogicalResult readOrders(Plan &plan) {
  FailureOr<ScheduleFamily> family = pipeline::familyOf(plan.schedule);
  if (failed(family))
    return failure();
  plan.family = *family;
  auto stages = plan.program.getBody().front().getOps<pipeline::StageOp>();
  plan.rankOfStage.assign(llvm::range_size(stages), -1);
  for (auto [rank, order] : llvm::enumerate(plan.family(1).ranks))
    for (const Action &action : order)
      plan.rankOfStage[action.stage] = rank;
  auto segments = compressToSegments(plan.family);
  if (!segments)
    return emitError(plan.schedule.getLoc()) << segments.error().message;
  plan.segments = std::move(*segments);
  return success();
}

/// The device that each rank runs on.
static LogicalResult readDevices(Plan &plan) {
  plan.deviceOfRank.resize(plan.segments.size());
  for (auto stage :
       plan.program.getBody().front().getOps<pipeline::StageOp>()) {
    if (stage.getDevices().size() != 1)
      return emitError(stage.getLoc())
             << "a stage must lie on one device, got "
             << stage.getDevices().size()
             << "; replicated stages cannot be lowered yet, plan without them";
    std::string device =
        cast<FlatSymbolRefAttr>(stage.getDevices()[0]).getValue().str();
    int64_t rank = plan.rankOfStage[stage.getIndex()];
    if (rank < 0)
      return emitError(stage.getLoc())
             << "no rank of the schedule runs stage " << stage.getIndex();
    if (plan.deviceOfRank[rank].empty())
      plan.deviceOfRank[rank] = device;
    if (plan.deviceOfRank[rank] != device)
      return emitError(stage.getLoc())
             << "rank " << rank << " runs stages on @"
             << plan.deviceOfRank[rank] << " and @" << device;
  }
  return success();
}

/// The actions of the schedule, without nodes, in the order of one microbatch.
static LogicalResult readActions(Plan &plan) {
  Schedule one = plan.family(1);
  for (auto [rank, order] : llvm::enumerate(one.ranks))
    for (auto [place, action] : llvm::enumerate(order)) {
      if (action.kind == ActionKind::Recompute ||
          action.kind == ActionKind::Update)
        return emitError(plan.schedule.getLoc())
               << "action " << toString(action) << " cannot be lowered";
      ActionPlan &actionPlan = plan.actions[{action.kind, action.stage}];
      actionPlan.rank = rank;
      actionPlan.place = place;
    }
  return success();
}

/// The action that runs `node`, or null where the schedule has none.
static std::optional<ActionKey> findAction(const Plan &plan,
                                           pipeline::NodeOp node) {
  int64_t stage = plan.stageOfLayer[node.getLayer()];
  ActionKind kind = ActionKind::Backward;
  if (node.getPhase() == pipeline::Phase::F)
    kind = ActionKind::Forward;
  else if (!plan.actions.count({kind, stage})) {
    if (node.getPhase() == pipeline::Phase::B)
      return std::nullopt;
    kind = node.getPhase() == pipeline::Phase::I ? ActionKind::InputGradient
                                                 : ActionKind::WeightGradient;
  }
  if (!plan.actions.count({kind, stage}))
    return std::nullopt;
  return ActionKey{kind, stage};
}

/// Puts every node into its action: forwards by increasing layer, the others by
/// decreasing layer. That follows the edges of the graph (graph_c3, graph_c4);
/// within a layer the order of the graph does.
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
             << "node '" << node.getNodeName() << "' of phase "
             << pipeline::stringifyPhase(node.getPhase()) << " has no action: '"
             << plan.schedule.getKind()
             << "' runs none that includes it on stage "
             << plan.stageOfLayer[node.getLayer()];
    plan.keys[node] = *key;
    plan.actions[*key].nodes.push_back({node, {}, {}, 0});
  }
  for (auto &[key, action] : plan.actions) {
    bool forward = key.kind == ActionKind::Forward;
    llvm::stable_sort(action.nodes, [&](const NodePlan &a, const NodePlan &b) {
      int64_t left = pipeline::NodeOp(a.node).getLayer();
      int64_t right = pipeline::NodeOp(b.node).getLayer();
      return forward ? left < right : left > right;
    });
  }
  return success();
}

FailureOr<Plan> stagewright::torank::readSchedule(ModuleOp module) {
  Plan plan;
  if (failed(findSchedule(module, plan)) || failed(readOrders(plan)) ||
      failed(readDevices(plan)) || failed(readActions(plan)) ||
      failed(assignNodes(plan)))
    return failure();
  return plan;
}
