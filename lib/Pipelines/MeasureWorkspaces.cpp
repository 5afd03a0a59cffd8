//===- MeasureWorkspaces.cpp - workspaces before planning -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasureWorkspaces.h"
#include "RunPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/Rows.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/PipelineToRank/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// Bytes of all results in `body`: an upper bound on its temporaries.
static int64_t mostTemporaries(func::FuncOp body) {
  int64_t bytes = 0;
  body.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      bytes += pipeline::bytesOf(type);
  });
  return bytes;
}

/// An upper bound of the memory of a device that has the layers of `shard`, in
/// any plan of `graph`.
static Bytes mostMemory(pipeline::GraphOp graph, const Problem &problem,
                        int64_t shard) {
  std::vector<bool> isHere;
  for (Attribute name : graph.getLayers())
    isHere.push_back(
        pipeline::shardPlaceOf(cast<StringAttr>(name).getValue()).shard ==
        shard);
  StageMemory own = stageMemory(problem, isHere, /*recompute=*/false);
  for (const LayerValue &value : problem.values)
    if (llvm::any_of(value.uses,
                     [&](LayerPhase use) { return isHere[use.layer]; })) {
      own.receivedStash.toWeight += value.bytes.value;
      own.received += value.bytes.value;
    }
  Bytes most = own.with(problem.microbatches, problem.microbatches, 1);
  auto module = graph->getParentOfType<ModuleOp>();
  for (auto node : graph.getBody().getOps<pipeline::NodeOp>())
    if (auto callee = node.getCalleeAttr(); callee && isHere[node.getLayer()])
      if (auto body = module.lookupSymbol<func::FuncOp>(callee))
        most += Bytes(mostTemporaries(body));
  return most;
}

/// Whether some plan of `graph` might not fit on a device.
static FailureOr<bool> memoryIsShort(pipeline::GraphOp graph,
                                     const CompileOptions &options,
                                     std::optional<int64_t> microbatches) {
  auto module = graph->getParentOfType<ModuleOp>();
  FailureOr<std::optional<Cluster>> cluster =
      pipeline::findCluster(module, options.cluster);
  if (failed(cluster))
    return failure();
  if (!*cluster) // pipeline-partition uses a default, and reports it.
    return false;
  FailureOr<Problem> problem = pipeline::problemOf(graph, **cluster);
  if (failed(problem))
    return failure();
  problem->microbatches =
      microbatches.value_or(pipeline::statedMicrobatches(module).value_or(
          pipeline::kDefaultMicrobatches));
  // A device has one shard of each layer, and the first ones may be larger.
  Bytes most;
  for (int64_t shard = 0;
       shard < std::max<int64_t>(1, options.shards.value_or(1)); ++shard)
    most = std::max(most, mostMemory(graph, *problem, shard));
  Result<Bytes> limit = parseBytes(options.memory);
  return llvm::any_of((*cluster)->devices, [&](const Device &device) {
    return most > (options.memory.empty() || !limit ? device.memory : *limit);
  });
}

namespace {
/// Options with which a copy of the graph is lowered.
struct Trial {
  Cluster cluster;
  std::string plan;    ///< Puts all layers on one stage.
  std::string replica; ///< Suffix of the nodes of the replica measured.
  int64_t level = 0;   ///< Recomputation level of all layers.
};

/// Bytes by the name of the node.
using NodeBytes = llvm::StringMap<int64_t>;

class Measurer {
public:
  Measurer(ModuleOp module, function_ref<void(OpPassManager &)> buildBodies)
      : module(module), buildBodies(buildBodies) {}

  /// Workspaces of the nodes of the replica, regardless of device memory.
  FailureOr<NodeBytes> workspaces(const Trial &how);
  /// Calls take(node, level, bytes): at level 0 for every node with its
  /// workspace, at others for forwards with those of forward and recomputation.
  using Take = function_ref<void(pipeline::NodeOp, int64_t, ArrayRef<int64_t>)>;
  LogicalResult allLevels(Trial how, Take take);

private:
  ModuleOp module;
  function_ref<void(OpPassManager &)> buildBodies;
};
} // namespace

FailureOr<NodeBytes> Measurer::workspaces(const Trial &how) {
  OwningOpRef<ModuleOp> trial(module.clone());
  // The update has no nodes, and with many parameters is slow to lower.
  if (auto update = trial->lookupSymbol<func::FuncOp>("update"))
    update.erase();
  pipeline::GraphOp graph = *trial->getOps<pipeline::GraphOp>().begin();
  bool merged =
      pipeline::hasWholeBackward(graph) || pipeline::isForwardOnly(graph);
  pipeline::PartitionOptions partition;
  for (auto other : llvm::to_vector(trial->getOps<pipeline::ClusterOp>()))
    other.erase();
  pipeline::writeCluster(*trial, how.cluster);
  partition.microbatches = 1;
  partition.memory = kUnlimitedMemory;
  partition.plan = how.plan;
  partition.schedule = merged ? "auto" : "zb-h1";
  partition.recomputeLevel = how.level;
  pipeline::ScheduleOptions schedule;
  schedule.kind = merged ? "plan" : "zb-h1";
  if (failed(runAside(*trial, [&](OpPassManager &manager) {
        manager.addPass(pipeline::createPartition(partition));
        manager.addPass(pipeline::createApplyRecompute());
        manager.addPass(pipeline::createSchedule(schedule));
        manager.addPass(createLowerPipelineToRank());
        buildBodies(manager);
      })))
    return failure();
  NodeBytes bytes;
  trial->walk([&](rank::CallOp call) {
    auto body = trial->lookupSymbol<func::FuncOp>(call.getCallee());
    auto own = body ? body->getAttrOfType<IntegerAttr>(bodies::kWorkspace)
                    : IntegerAttr();
    StringRef name = call.getNode();
    if (own && name.consume_back(how.replica))
      bytes[name] = own.getInt();
  });
  return bytes;
}

LogicalResult Measurer::allLevels(Trial how, Take take) {
  pipeline::GraphOp graph = *module.getOps<pipeline::GraphOp>().begin();
  auto nodes =
      llvm::to_vector(graph.getBody().front().getOps<pipeline::NodeOp>());
  int64_t most = 0;
  for (pipeline::NodeOp node : nodes)
    if (ArrayAttr levels = node.getLevelsAttr())
      most = std::max(most, int64_t(levels.size()));
  for (how.level = 0; how.level <= most; ++how.level) {
    FailureOr<NodeBytes> found = workspaces(how);
    if (failed(found))
      return failure();
    for (pipeline::NodeOp node : nodes) {
      auto own = found->find(node.getNodeName());
      if (own == found->end())
        continue;
      ArrayAttr levels = node.getLevelsAttr();
      if (how.level == 0)
        take(node, 0, own->second);
      else if (levels && how.level <= int64_t(levels.size()))
        take(node, how.level,
             {own->second,
              found->lookup((graph.getLayerName(node.getLayer()) +
                             pipeline::PipelineDialect::kAgainSuffix)
                                .str())});
    }
  }
  return success();
}

/// Samples in a microbatch if replicas can split it on all layers, else 1.
static FailureOr<int64_t> sharedSamples(ModuleOp module) {
  OwningOpRef<ModuleOp> trial(module.clone());
  if (failed(runAside(*trial, [](OpPassManager &manager) {
        manager.addPass(pipeline::createInferSliceable());
      })))
    return failure();
  pipeline::GraphOp graph = *trial->getOps<pipeline::GraphOp>().begin();
  for (auto node : graph.getBody().getOps<pipeline::NodeOp>())
    if (node.getSliceable() == false)
      return 1;
  return pipeline::rowsOf(graph).samples;
}

/// `level` with `bytes` as its workspaces for a microbatch or for one sample.
static pipeline::LevelAttr withWorkspaces(pipeline::LevelAttr level,
                                          ArrayRef<int64_t> bytes,
                                          bool isSample) {
  auto list = DenseI64ArrayAttr::get(level.getContext(), bytes);
  return pipeline::LevelAttr::get(
      level.getContext(), level.getForward(), level.getAgain(),
      level.getResults(), level.getInputs(), level.getRemade(), level.getCost(),
      isSample ? level.getWorkspaces() : list,
      isSample ? list : level.getSampleWorkspaces());
}

static void takeWorkspaces(pipeline::NodeOp node, int64_t level,
                           ArrayRef<int64_t> bytes, bool isSample) {
  if (level > 0) {
    SmallVector<Attribute> levels(node.getLevelsAttr().getValue());
    levels[level - 1] = withWorkspaces(
        cast<pipeline::LevelAttr>(levels[level - 1]), bytes, isSample);
    node.setLevelsAttr(ArrayAttr::get(node.getContext(), levels));
  } else if (isSample) {
    node.setSampleWorkspace(bytes[0]);
  } else {
    node.setWorkspace(bytes[0]);
  }
}

LogicalResult
measureWorkspaces(ModuleOp module, const CompileOptions &options,
                  std::optional<int64_t> microbatches,
                  pipeline::RunPipeline run,
                  function_ref<void(OpPassManager &)> buildBodies) {
  auto graphs = llvm::to_vector(module.getOps<pipeline::GraphOp>());
  if (graphs.size() != 1 || graphs.front().getNumLayers() == 0)
    return success();
  pipeline::GraphOp graph = graphs.front();
  bool isAsked = options.recomputeLevel.value_or(0) > 0 ||
                 options.offload == "all" ||
                 StringRef(options.plan).contains("\"levels\"");
  FailureOr<bool> isShort =
      isAsked ? true : memoryIsShort(graph, options, microbatches);
  if (failed(isShort))
    return failure();
  bool hasBodies = false, isMeasured = false;
  for (auto node : graph.getBody().getOps<pipeline::NodeOp>()) {
    hasBodies |= bool(node.getCallee());
    isMeasured |= node.getWorkspace().has_value();
  }
  if (!*isShort || !hasBodies || isMeasured)
    return success();
  pipeline::OfferRecomputeOptions offers;
  offers.cluster = options.cluster;
  OpPassManager manager(ModuleOp::getOperationName());
  manager.addPass(pipeline::createOfferRecompute(offers));
  if (failed(run(manager)))
    return failure();
  Measurer measurer(module, buildBodies);
  std::string all = "[0," + std::to_string(graph.getNumLayers()) + ")x";
  auto take = [](bool isSample) {
    return [isSample](pipeline::NodeOp node, int64_t level,
                      ArrayRef<int64_t> bytes) {
      takeWorkspaces(node, level, bytes, isSample);
    };
  };
  // Bytes do not depend on the devices, and one is planned fastest. Seconds may
  // be known for some classes of devices only.
  bool hasSeconds = llvm::any_of(
      graph.getBody().getOps<pipeline::NodeOp>(), [](pipeline::NodeOp node) {
        return node.getCostAttr() && node.getCostAttr().getSeconds();
      });
  Cluster one = *localCluster(1);
  if (hasSeconds) { // memoryIsShort() has found a cluster.
    one = **pipeline::findCluster(module, options.cluster);
    one.devices.resize(1);
    one.links.clear();
  }
  if (failed(measurer.allLevels({one, all + "1", ""}, take(false))))
    return failure();

  // Measure a replica with one sample; a second one has the others.
  FailureOr<int64_t> samples =
      options.maxReplicas == 1 ? 1 : sharedSamples(module);
  if (failed(samples) || *samples < 2)
    return LogicalResult(samples);
  return measurer.allLevels(
      {*localCluster(2), all + "2:1+" + std::to_string(*samples - 1), ".r0"},
      take(true));
}

} // namespace stagewright
