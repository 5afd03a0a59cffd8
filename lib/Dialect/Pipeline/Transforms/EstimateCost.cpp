//===- EstimateCost.cpp - pipeline-estimate-cost --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Cost/Profile.h"
#include "stagewright/Cost/Roofline.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Planning/Problem.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_ESTIMATECOST
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// Seconds by device class, as in CostAttr.
using ClassSeconds = llvm::SmallMapVector<StringAttr, Seconds, 2>;

/// `cost` with its seconds replaced.
static CostAttr withSeconds(CostAttr cost, const ClassSeconds &seconds) {
  Builder builder(cost.getContext());
  SmallVector<NamedAttribute> entries;
  for (const auto &[name, time] : seconds)
    entries.emplace_back(name, builder.getF64FloatAttr(time.value));
  return CostAttr::get(
      cost.getContext(), cost.getFlops(), cost.getRead(), cost.getWritten(),
      entries.empty() ? DictionaryAttr() : builder.getDictionaryAttr(entries));
}

static ClassSeconds secondsOf(CostAttr cost) {
  ClassSeconds seconds;
  if (cost && cost.getSeconds())
    for (NamedAttribute entry : cost.getSeconds())
      seconds[entry.getName()] =
          Seconds(cast<FloatAttr>(entry.getValue()).getValueAsDouble());
  return seconds;
}

/// Bytes of the tensors among `values`, each value once.
static int64_t bytesOfAll(ValueRange values) {
  llvm::SmallPtrSet<mlir::Value, 8> seen;
  int64_t bytes = 0;
  for (mlir::Value value : values)
    if (seen.insert(value).second)
      bytes += bytesOf(value.getType());
  return bytes;
}

/// `flops` as an integer; the max if it does not fit.
static int64_t wholeFlops(double flops) {
  return flops < double(INT64_MAX) ? int64_t(flops) : INT64_MAX;
}

namespace {

struct EstimateCostPass : impl::EstimateCostBase<EstimateCostPass> {
  using EstimateCostBase::EstimateCostBase;

  void runOnOperation() override {
    if (failed(ensureUnifiedGraph()))
      return signalPassFailure();
    FailureOr<std::optional<Cluster>> found =
        findCluster(getOperation(), cluster);
    if (failed(found))
      return signalPassFailure();
    FlopCounter counter;
    for (GraphOp graph : getOperation().getOps<GraphOp>()) {
      for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
        if (failed(estimate(node, counter, *found)))
          return signalPassFailure();
      if (!profile.empty() && failed(applyProfile(graph, *found)))
        return signalPassFailure();
    }
  }

  /// Sets the counts of `node`, and its seconds by the roofline model.
  LogicalResult estimate(NodeOp node, FlopCounter &counter,
                         const std::optional<Cluster> &cluster) {
    CostAttr cost = node.getCostAttr();
    if (node.getCalleeAttr()) {
      auto body = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
          node, node.getCalleeAttr());
      cost = withSeconds(CostAttr::get(node.getContext(),
                                       wholeFlops(counter.count(body).total),
                                       bytesOfAll(node.getInputs()),
                                       bytesOfAll(node.getOutputs()),
                                       DictionaryAttr()),
                         secondsOf(cost));
    }
    if (!cost)
      return node.emitOpError() << "'" << node.getNodeName()
                                << "' has neither a body nor a cost; give it "
                                << "one of them";
    // Costs of an imported profile are kept.
    ClassSeconds seconds = secondsOf(cost);
    bool isCounted = cost.getFlops() || cost.getRead() || cost.getWritten();
    bool isProfiled =
        seconds.contains(StringAttr::get(node.getContext(), kProfiledClass));
    if (cluster && (node.getCalleeAttr() || (isCounted && !isProfiled))) {
      node.setCostAttr(cost);
      NodeWork work = workOf(node, counter);
      llvm::StringSet<> known; // Devices of one class are equally fast.
      for (const Device &device : cluster->devices) {
        if (!known.insert(device.deviceClass).second)
          continue;
        auto name = StringAttr::get(node.getContext(), device.deviceClass);
        if (node.getCalleeAttr() || !seconds.contains(name))
          seconds[name] = rooflineSeconds(work, device);
      }
      cost = withSeconds(cost, seconds);
    }
    node.setCostAttr(cost);
    ++numNodes;
    return success();
  }

  /// Finds the nodes that `name` in a profile refers to.
  static SmallVector<NodeOp> nodesOf(StringRef name,
                                     const llvm::StringMap<NodeOp> &nodes) {
    if (NodeOp node = nodes.lookup(name))
      return {node};
    SmallVector<NodeOp> found;
    StringRef layer = name;
    // The time of a backward measured as a whole is divided over I and W; a
    // graph with one backward node gets the sum of both.
    if (layer.consume_back(".B")) {
      for (StringRef phase : {".I", ".W"})
        if (NodeOp node = nodes.lookup((layer + phase).str()))
          found.push_back(node);
    } else if (layer.consume_back(".I") || layer.consume_back(".W")) {
      if (NodeOp node = nodes.lookup((layer + ".B").str()))
        found.push_back(node);
    }
    return found;
  }

  /// The device class of a profile's seconds. pp-run knows that it ran on GPUs,
  /// but not the name of their class in a cluster: if the cluster has only one
  /// class, it is that one.
  static std::string classOf(const Profile &profile, GraphOp graph,
                             const std::optional<Cluster> &cluster) {
    if (!cluster)
      return profile.deviceClass;
    llvm::SetVector<StringRef> classes;
    for (const Device &device : cluster->devices)
      classes.insert(device.deviceClass);
    if (classes.contains(profile.deviceClass))
      return profile.deviceClass;
    if (profile.deviceClass == "cuda" && classes.size() == 1)
      return classes.front().str();
    emitWarning(graph.getLoc())
        << "the profile is of devices of class '" << profile.deviceClass
        << "', but those of the cluster are '" << llvm::join(classes, "', '")
        << "'; their estimates stay";
    return profile.deviceClass;
  }

  /// Replaces seconds by those of the profile.
  LogicalResult applyProfile(GraphOp graph,
                             const std::optional<Cluster> &cluster) {
    Result<Profile> data = loadProfile(profile);
    if (!data)
      return emitError(graph.getLoc(), data.error().message);
    llvm::StringMap<NodeOp> nodes;
    for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
      nodes[node.getNodeName()] = node;
    SmallVector<std::string> unknown;
    llvm::MapVector<Operation *, Seconds> measured;
    for (const auto &[name, time] : data->nodes) {
      SmallVector<NodeOp> found = nodesOf(name, nodes);
      // A name without a node is no error if the profiled run recomputed what
      // this graph still keeps, or if it is a part of the optimizer (update.0,
      // update.1, ...).
      StringRef text = name;
      int64_t part = 0;
      bool isUpdate =
          text.consume_front("update.") && !text.getAsInteger(10, part);
      // Nor is a forward of which the graph has only the repetition.
      StringRef forward = name;
      bool isRepeated =
          forward.consume_back(".F") &&
          nodes.contains((forward + PipelineDialect::kAgainSuffix).str());
      if (found.empty() && (isUpdate || isRepeated ||
                            text.ends_with(PipelineDialect::kAgainSuffix)))
        continue;
      if (found.empty())
        unknown.push_back("'" + name + "'");
      double flops = 0;
      for (NodeOp node : found)
        flops += double(node.getCostAttr().getFlops());
      for (NodeOp node : found) {
        double share = flops > 0 ? double(node.getCostAttr().getFlops()) / flops
                                 : 1.0 / double(found.size());
        measured[node] += time * share;
      }
    }
    if (!unknown.empty())
      return emitError(graph.getLoc())
             << "profile '" << profile << "' has times for nodes that @"
             << graph.getSymName()
             << " does not have: " << llvm::join(unknown, ", ")
             << "; measure this model with pp-run --profile";
    auto name = StringAttr::get(&getContext(), classOf(*data, graph, cluster));
    for (auto [op, time] : measured) {
      auto node = cast<NodeOp>(op);
      ClassSeconds seconds = secondsOf(node.getCostAttr());
      seconds[name] = time;
      node.setCostAttr(withSeconds(node.getCostAttr(), seconds));
      ++numMeasured;
    }
    SmallVector<std::string> missing;
    for (NodeOp node : graph.getBody().front().getOps<NodeOp>())
      if (!measured.contains(node) && // The run may not have repeated it.
          !node.getNodeName().ends_with(PipelineDialect::kAgainSuffix))
        missing.push_back("'" + node.getNodeName().str() + "'");
    if (!missing.empty())
      emitRemark(graph.getLoc())
          << "profile '" << profile << "' has no time for "
          << llvm::join(missing, ", ") << "; their estimates stay";
    return success();
  }
};
} // namespace
} // namespace stagewright::pipeline
