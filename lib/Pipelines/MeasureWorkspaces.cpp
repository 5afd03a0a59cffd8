//===- MeasureWorkspaces.cpp - temporaries before planning ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasureWorkspaces.h"
#include "PassText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/Rows.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Conversion/RankToHost/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Planning/Evaluate.h"

using namespace mlir;

namespace stagewright {

/// Bytes of everything that `body` computes: its temporaries take no more.
static int64_t mostTemporaries(func::FuncOp body) {
  int64_t bytes = 0;
  body.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      bytes += pipeline::bytesOf(type);
  });
  return bytes;
}

/// Whether some plan of `graph` could be too large for a device.
static FailureOr<bool> memoryIsShort(pipeline::GraphOp graph,
                                     const CompileOptions &options,
                                     StringRef microbatches) {
  auto module = graph->getParentOfType<ModuleOp>();
  FailureOr<std::optional<Cluster>> cluster =
      pipeline::findCluster(module, options.cluster);
  if (failed(cluster))
    return failure();
  if (!*cluster) // The partition takes a default, and says so.
    return false;
  FailureOr<Problem> problem = pipeline::problemOf(graph, **cluster);
  if (failed(problem))
    return failure();
  auto stated = module->getAttrOfType<IntegerAttr>(
      pipeline::PipelineDialect::kMicrobatches);
  problem->microbatches =
      stated ? stated.getInt() : pipeline::kDefaultMicrobatches;
  if (microbatches.getAsInteger(10, problem->microbatches) &&
      !microbatches.empty())
    return false; // The partition says what is wrong with it.
  Bytes most = mostMemory(*problem);
  for (auto node : graph.getBody().getOps<pipeline::NodeOp>())
    if (auto callee = node.getCalleeAttr())
      if (auto body = module.lookupSymbol<func::FuncOp>(callee))
        most += Bytes(mostTemporaries(body));
  Result<Bytes> limit = parseBytes(options.memory);
  return llvm::any_of((*cluster)->devices, [&](const Device &device) {
    return most > (options.memory.empty() || !limit ? device.memory : *limit);
  });
}

/// Bytes of workspace by node of `trial`, once `plan` has put all its layers on
/// one stage, whatever its devices hold.
static FailureOr<llvm::StringMap<int64_t>>
workspacesOf(ModuleOp trial, const std::string &cluster,
             const std::string &plan, TimingScope &timing,
             function_ref<void(OpPassManager &)> buildBodies) {
  pipeline::GraphOp graph = *trial.getOps<pipeline::GraphOp>().begin();
  bool merged =
      pipeline::hasWholeBackward(graph) || pipeline::isForwardOnly(graph);
  if (failed(runText(
          trial, timing,
          {passText("pipeline-partition",
                    {{"cluster", cluster},
                     {"microbatches", "1"},
                     {"memory", "4194304GiB"},
                     {"plan", "\"" + plan + "\""},
                     {"schedule", merged ? "auto" : "zb-h1"}}),
           passText("pipeline-schedule", {{"kind", merged ? "plan" : "zb-h1"}}),
           passText("lower-pipeline-to-rank")})) ||
      failed(runPasses(trial, timing, [&](OpPassManager &manager) {
        buildBodies(manager);
        return success();
      })))
    return failure();
  llvm::StringMap<int64_t> bytes;
  trial.walk([&](rank::CallOp call) {
    auto body = trial.lookupSymbol<func::FuncOp>(call.getCallee());
    auto own = body ? body->getAttrOfType<IntegerAttr>(host::kWorkspace)
                    : IntegerAttr();
    if (own)
      bytes[call.getNode()] = own.getInt();
  });
  return bytes;
}

/// Samples of a microbatch of `graph` that replicas can share on all layers; 1
/// where they cannot.
static FailureOr<int64_t> sharedSamples(ModuleOp module, TimingScope &timing) {
  OwningOpRef<ModuleOp> trial(module.clone());
  if (failed(runText(*trial, timing, {passText("pipeline-infer-sliceable")})))
    return failure();
  pipeline::GraphOp graph = *trial->getOps<pipeline::GraphOp>().begin();
  for (auto node : graph.getBody().getOps<pipeline::NodeOp>())
    if (node.getSliceable() == false)
      return 1;
  return pipeline::rowsOf(graph).samples;
}

LogicalResult
measureWorkspaces(ModuleOp module, const CompileOptions &options,
                  StringRef microbatches, TimingScope &timing,
                  function_ref<void(OpPassManager &)> buildBodies) {
  auto graphs = llvm::to_vector(module.getOps<pipeline::GraphOp>());
  if (graphs.size() != 1 || graphs.front().getNumLayers() == 0)
    return success();
  pipeline::GraphOp graph = graphs.front();
  FailureOr<bool> isShort = memoryIsShort(graph, options, microbatches);
  if (failed(isShort))
    return failure();
  bool hasBodies =
      llvm::any_of(graph.getBody().getOps<pipeline::NodeOp>(),
                   [](pipeline::NodeOp node) { return node.getCallee(); });
  if (!*isShort || !hasBodies)
    return success();
  std::string all = "[0," + std::to_string(graph.getNumLayers()) + ")x";
  OwningOpRef<ModuleOp> trial(module.clone());
  auto whole =
      workspacesOf(*trial, options.cluster, all + "1", timing, buildBodies);
  if (failed(whole))
    return failure();
  for (auto node : graph.getBody().getOps<pipeline::NodeOp>())
    if (auto found = whole->find(node.getNodeName()); found != whole->end())
      node.setWorkspace(found->second);

  // A replica with one sample, beside one with the others.
  FailureOr<int64_t> samples =
      options.maxReplicas == 1 ? 1 : sharedSamples(module, timing);
  if (failed(samples) || *samples < 2)
    return LogicalResult(samples);
  trial = module.clone();
  auto sliced = workspacesOf(*trial, "local:2",
                             all + "2:1+" + std::to_string(*samples - 1),
                             timing, buildBodies);
  if (failed(sliced))
    return failure();
  for (auto node : graph.getBody().getOps<pipeline::NodeOp>())
    if (auto found = sliced->find((node.getNodeName() + ".r0").str());
        found != sliced->end())
      node.setSampleWorkspace(found->second);
  return success();
}

} // namespace stagewright
