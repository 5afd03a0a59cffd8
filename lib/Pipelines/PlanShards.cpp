//===- PlanShards.cpp - where the layers of shards lie --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanShards.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Scheduling/Generators.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace stagewright {

/// The schedules unless one is asked for: of several stages on a device, with
/// the activations of few microbatches alive, and of one.
static constexpr const char *kSchedule = "interleaved", *kOfOne = "1f1b";

/// The shard of a layer, by its name; 0 if it says none.
static int64_t shardOf(StringRef layer) {
  int64_t shard = 0;
  (void)layer.rsplit(".s").second.getAsInteger(10, shard);
  return shard;
}

FailureOr<std::string> planShards(pipeline::GraphOp graph,
                                  const CompileOptions &options) {
  int64_t ways = *options.shards;
  const char *given = options.stages               ? "a number of stages"
                      : options.chunks             ? "a number of chunks"
                      : !options.placement.empty() ? "a placement"
                      : options.maxReplicas.value_or(1) != 1
                          ? "a number of replicas"
                          : nullptr;
  if (given)
    return emitError(graph.getLoc())
           << "layers are split over " << ways << " shards, which places "
           << "stages by itself; leave out " << given;
  auto generator = findGenerator(options.schedule);
  if (!generator && options.schedule != "plan")
    return emitError(graph.getLoc())
           << "layers that are split over shards take a schedule by its name, "
           << "such as " << kSchedule << ", not '" << options.schedule << "'";
  FailureOr<std::optional<Cluster>> cluster = pipeline::findCluster(
      graph->getParentOfType<ModuleOp>(), options.cluster);
  if (failed(cluster))
    return failure();
  if (!*cluster || int64_t((*cluster)->devices.size()) < ways)
    return emitError(graph.getLoc())
           << ways << " shards need " << ways << " devices, and there are "
           << (*cluster ? (*cluster)->devices.size() : 0)
           << "; name a larger cluster, as --cluster=local:" << ways;
  // The stages of a level take devices in turn. A level that only some shards
  // have, as the last may be, goes with the stage before it.
  std::vector<std::vector<std::string>> stages;
  for (Attribute name : graph.getLayers()) {
    std::string layer = cast<StringAttr>(name).str();
    if (int64_t(stages.size()) % ways == shardOf(layer))
      stages.push_back({layer});
    else
      stages.back().push_back(layer);
  }
  while (int64_t(stages.size()) > ways && stages.size() % size_t(ways) != 0) {
    auto &before = stages[stages.size() - 2];
    before.insert(before.end(), stages.back().begin(), stages.back().end());
    stages.pop_back();
  }
  llvm::json::Array list;
  for (auto [number, layers] : llvm::enumerate(stages)) {
    llvm::json::Array nodes;
    for (const std::string &layer : layers)
      nodes.push_back(layer);
    list.push_back(llvm::json::Object{
        {"nodes", std::move(nodes)},
        {"devices",
         llvm::json::Array{(*cluster)->devices[number % size_t(ways)].name}}});
  }
  std::string schedule = generator                       ? options.schedule
                         : int64_t(stages.size()) > ways ? kSchedule
                                                         : kOfOne;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"schedule", schedule}, {"stages", std::move(list)}});
  return text;
}

} // namespace stagewright
