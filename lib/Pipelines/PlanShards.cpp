//===- PlanShards.cpp - places the layers of shards on devices ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanShards.h"
#include "ApplyAnnotations.h"
#include "ShardStages.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Support/DeviceGroups.h"
#include <numeric>

namespace stagewright {

/// Default schedules: `levels` if all devices share several levels of layers,
/// or if stages have their own numbers of shards and every two stages have a
/// common device; `1f1b` for a single level or for other pipelines of gangs of
/// devices.
static constexpr const char *kOfLevels = "levels", *kOfStages = "1f1b";

namespace {
/// A pipeline of gangs of devices, each of which shares its layers among its
/// devices, and copies of the pipeline that take microbatches in turn.
struct Groups {
  int64_t stages = 1, chunks = 1; ///< Chunks: stages per gang.
  int64_t copies = 1;
  Placement placement = Placement::Linear;
  std::string schedule;

  int64_t count() const { return stages / chunks; }
};
} // namespace

static LogicalResult failUnknown(Location loc, const CompileOptions &options) {
  return emitError(loc)
         << "layers that are split over shards take a schedule by its name, "
         << "such as " << kOfLevels << ", not '" << options.schedule << "'";
}

static LogicalResult failSearched(Location loc, const CompileOptions &options) {
  return emitError(loc) << "'" << options.schedule << "' searches an order "
                        << "for stages that are not split; with shards "
                        << "give a schedule such as " << kOfStages;
}

/// The gangs that `options` ask for.
static FailureOr<Groups> groupsOf(Location loc, const CompileOptions &options) {
  Groups groups;
  groups.stages = options.stages.value_or(1);
  if (groups.stages < 1)
    return emitError(loc) << "number of stages must be at least 1, got "
                          << groups.stages;
  groups.copies = options.dataParallel.value_or(1);
  auto generator = findGenerator(options.schedule);
  if (!generator && options.schedule != "plan")
    return failUnknown(loc, options);
  if (generator)
    groups.schedule = options.schedule;
  if (groups.stages == 1)
    return groups;
  if (!generator) {
    groups.schedule = kOfStages;
    generator = findGenerator(kOfStages);
  }
  groups.placement = generator->placement;
  groups.chunks = options.chunks.value_or(generator->leastChunks);
  bool isPlaced =
      groups.placement == Placement::Loop ||
      (groups.chunks == 1 && groups.placement == Placement::Linear) ||
      (groups.chunks == 2 && groups.placement == Placement::V);
  if (generator->isSearched)
    return failSearched(loc, options);
  if (!isPlaced)
    return emitError(loc) << "stages of shards go around the devices or back, "
                          << "as for 1f1b, interleaved or zb-v; '"
                          << options.schedule << "' with " << groups.chunks
                          << " on each places them otherwise";
  if (groups.chunks < 1 || groups.stages % groups.chunks != 0)
    return emitError(loc) << groups.stages << " stages are not a multiple of "
                          << groups.chunks << " on each device; give a "
                          << "multiple with --stages";
  if (groups.placement == Placement::V && groups.count() < 2)
    return emitError(loc) << "'" << options.schedule << "' goes to the last "
                          << "gang and back, and needs 2 gangs; give "
                          << "--stages=4 or more";
  return groups;
}

/// The devices of stages with `ways` shards: as asked for, else those that
/// follow the devices of the stage before.
static FailureOr<std::vector<std::vector<int64_t>>>
devicesOf(Location loc, const CompileOptions &options, ArrayRef<int64_t> ways) {
  auto groups = parseDeviceGroups(options.stageDevices, ways.vec());
  if (!groups)
    return emitError(loc) << groups.error().message;
  if (!groups->empty())
    return std::move(*groups);
  int64_t next = 0;
  for (int64_t count : ways) {
    std::vector<int64_t> &own = groups->emplace_back(size_t(count));
    std::iota(own.begin(), own.end(), next);
    next += count;
  }
  return std::move(*groups);
}

/// Whether any two stages have a common device, so that no two can work at the
/// same time.
static bool
haveCommonDevices(const std::vector<std::vector<int64_t>> &devices) {
  for (size_t a = 0; a < devices.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (llvm::none_of(devices[a], [&](int64_t device) {
            return llvm::is_contained(devices[b], device);
          }))
        return false;
  return true;
}

/// The plan for stages with numbers of shards of their own.
static FailureOr<std::string> planUnequal(pipeline::GraphOp graph,
                                          const CompileOptions &options,
                                          ArrayRef<int64_t> ways) {
  Location loc = graph.getLoc();
  auto generator = findGenerator(options.schedule);
  if (!generator && options.schedule != "plan")
    return failUnknown(loc, options);
  if (generator && generator->isSearched)
    return failSearched(loc, options);
  FailureOr<std::optional<Cluster>> cluster = pipeline::findCluster(
      graph->getParentOfType<ModuleOp>(), options.cluster);
  if (failed(cluster))
    return failure();
  auto where = devicesOf(loc, options, ways);
  if (failed(where))
    return failure();
  int64_t devices = 0;
  for (const std::vector<int64_t> &own : *where)
    devices = std::max(devices, 1 + *llvm::max_element(own));
  if (!*cluster || int64_t((*cluster)->devices.size()) < devices)
    return emitError(loc) << "stages with " << options.stageShards
                          << " shards need " << devices
                          << " devices, and there are "
                          << (*cluster ? (*cluster)->devices.size() : 0)
                          << "; name a larger cluster, such as --cluster=local:"
                          << devices;
  FailureOr<Problem> problem = pipeline::problemOf(graph, **cluster);
  if (failed(problem))
    return failure();
  FailureOr<std::vector<ShardLevel>> levels = levelsOf(graph, ways);
  if (failed(levels))
    return failure();
  StagesOfShards stages{{}, options.schedule};
  if (!generator)
    stages.schedule = haveCommonDevices(*where) ? kOfLevels : kOfStages;
  for (auto [end, group] : llvm::zip_equal(endsOfStages(*levels), *where)) {
    GroupStage &own = stages.stages.emplace_back();
    own.end = end;
    own.devices.assign(group.begin(), group.end());
  }
  return toJson(graph, *problem, *levels, stages);
}

FailureOr<std::string> planShards(pipeline::GraphOp graph,
                                  const CompileOptions &options,
                                  ArrayRef<int64_t> ofStages) {
  int64_t ways = *options.shards;
  Location loc = graph.getLoc();
  const char *given =
      !options.placement.empty()                          ? "a placement"
      : options.chunks && options.stages.value_or(1) == 1 ? "a number of chunks"
      : options.maxReplicas.value_or(1) != 1 ? "a number of replicas"
                                             : nullptr;
  if (given)
    return emitError(loc) << "layers are split over " << ways
                          << " shards, which places stages by itself; leave "
                          << "out " << given;
  if (!ofStages.empty())
    return planUnequal(graph, options, ofStages);
  for (Attribute name : graph.getLayers())
    if (pipeline::shardPlaceOf(cast<StringAttr>(name).getValue()).stage > 0)
      return emitError(loc)
             << "layer " << name << " is of a stage with its own number of "
             << "shards, but one number is given, " << ways
             << "; give one for each stage, such as --tensor-parallel=4,2";
  FailureOr<Groups> groups = groupsOf(loc, options);
  if (failed(groups))
    return failure();
  FailureOr<std::optional<Cluster>> cluster = pipeline::findCluster(
      graph->getParentOfType<ModuleOp>(), options.cluster);
  if (failed(cluster))
    return failure();
  int64_t ofCopy = ways * groups->count(), devices = ofCopy * groups->copies;
  if (!*cluster || int64_t((*cluster)->devices.size()) < devices) {
    auto error = emitError(loc);
    error << ways << " shards ";
    if (groups->count() > 1)
      error << "of " << groups->count() << " stages at a time ";
    if (groups->copies > 1)
      error << "in " << groups->copies << " copies ";
    return error << "need " << devices << " devices, and there are "
                 << (*cluster ? (*cluster)->devices.size() : 0)
                 << "; name a larger cluster, such as --cluster=local:"
                 << devices;
  }
  FailureOr<Problem> problem = pipeline::problemOf(graph, **cluster);
  if (failed(problem))
    return failure();
  std::vector<ShardLevel> levels = levelsOf(graph, *problem, ways);
  std::vector<size_t> asked = annotatedEnds(graph, levels);
  if (int64_t(asked.size()) > groups->stages)
    return emitError(loc) << groups->stages << " stages are requested, but "
                          << "annotations ask for " << asked.size()
                          << "; give --stages=" << asked.size();
  if (!asked.empty() && int64_t(asked.size()) < groups->stages)
    return emitError(loc)
           << groups->stages
           << " stages are requested, but the annotations allow only "
           << asked.size()
           << ": no stage can end where shards exchange no values between two "
              "annotations; join the two, or move their border behind a "
              "residual connection";
  Result<std::vector<size_t>> ends =
      asked.empty() ? cutLevels(levels, groups->stages)
                    : Result<std::vector<size_t>>(std::move(asked));
  if (!ends)
    return emitError(loc) << ends.error().message;
  StagesOfShards stages{{}, groups->schedule};
  if (stages.schedule.empty())
    stages.schedule = levels.size() > 1 ? kOfLevels : kOfStages;
  for (auto [stage, end] : llvm::enumerate(*ends)) {
    auto first = size_t(rankOf(groups->placement, groups->count(),
                               groups->chunks, int64_t(stage)));
    GroupStage &own = stages.stages.emplace_back(GroupStage{end, {}, {}});
    for (int64_t copy = 0; copy < groups->copies; ++copy)
      own.groups.push_back(first + size_t(copy * groups->count()));
  }
  return toJson(graph, *problem, levels, stages);
}

} // namespace stagewright
