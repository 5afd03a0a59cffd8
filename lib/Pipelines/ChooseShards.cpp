//===- ChooseShards.cpp - how many devices share a layer ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseShards.h"
#include "PlanStep.h"
#include "RunPasses.h"
#include "ShardGrids.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Support/Units.h"
#include <limits>

using namespace mlir;

namespace stagewright {
namespace {

/// Max number of shards tried, unless a host has more devices. With more, each
/// layer waits for links between hosts several times.
constexpr int64_t kMostAcrossHosts = 8;

/// The search stops after this many numbers of shards in a row that were no
/// faster than a smaller number.
constexpr int kMostInVain = 2;

/// Schedules that run the halves of a backward separately, with one stage per
/// group of shards and with several. Since they shorten bubbles only, they are
/// tried if the best plan of a number of shards takes at most kNearBest times
/// as long as the best of all.
constexpr const char *kOfHalves = "zb-h1",
                     *kOfChunksOfHalves = "interleaved-zb";
constexpr double kNearBest = 1.25;

/// The fastest plan for one number of shards.
struct Found {
  Grid grid;
  Seconds seconds = Seconds(std::numeric_limits<double>::infinity());
  std::string problem; ///< The first error of a plan that failed.
  OwningOpRef<ModuleOp> planned;
  std::vector<Diagnostic> said; ///< Remarks and warnings of the plan.
  size_t ofGraph = 0;           ///< How many of them are of the graph.
  std::vector<Grid> grids;      ///< All that were tried.

  bool fits() const { return std::isfinite(seconds.value); }
};

class Search {
public:
  Search(ModuleOp module, const CompileOptions &options, const Cluster &cluster,
         const std::shared_ptr<const DeviceTarget> &device)
      : module(module), options(options), device(device), cluster(cluster),
        devices(int64_t(cluster.devices.size())) {
    llvm::SmallDenseMap<int64_t, int64_t> ofHost;
    for (const Device &each : cluster.devices)
      most = std::max(most, ++ofHost[each.node]);
  }

  FailureOr<ShardChoice> run();

private:
  CompileOptions optionsOf(const Grid &grid) const;
  Found fastest(int64_t ways);
  /// The graph of layers for `ways` shards, with backwards as the schedule of
  /// `grid` needs them; null, with a problem in `found`, if there is none.
  OwningOpRef<ModuleOp> formGraph(Grid grid, Found &found);
  /// Plans `graph` for each of `grids`, and keeps the fastest plan in `found`.
  void tryAll(ModuleOp graph, ArrayRef<Grid> grids, Found &found) const;
  /// Tries schedules of halves with the groups and copies of `found`.
  void tryHalves(Found &found);
  LogicalResult plan(ModuleOp trial, const Grid &grid, Level to, Found &found,
                     std::vector<Diagnostic> &said) const;
  void tell(const Found &found);

  ModuleOp module;
  const CompileOptions &options;
  std::shared_ptr<const DeviceTarget> device;
  const Cluster &cluster;
  int64_t devices;
  int64_t most = kMostAcrossHosts; ///< Max number of shards tried.
};

CompileOptions Search::optionsOf(const Grid &grid) const {
  CompileOptions own = options;
  if (grid.ways == 1) { // The planner chooses stages and replicas.
    own.shards = std::nullopt;
    own.shardHints.clear();
    return own;
  }
  own.shards = grid.ways;
  own.stages = grid.stages();
  own.dataParallel = grid.copies;
  if (!grid.schedule.empty()) {
    own.schedule = grid.schedule;
    own.chunks = grid.chunks;
  }
  return own;
}

/// Plans `trial`. The first error becomes the problem of `found`, unless it has
/// one; other diagnostics are appended to `said`.
LogicalResult Search::plan(ModuleOp trial, const Grid &grid, Level to,
                           Found &found, std::vector<Diagnostic> &said) const {
  ScopedDiagnosticHandler keep(trial.getContext(), [&](Diagnostic &it) {
    if (it.getSeverity() != DiagnosticSeverity::Error)
      said.push_back(std::move(it));
    else if (found.problem.empty())
      found.problem = it.str();
  });
  return runAside(trial, [&](OpPassManager &manager) {
    manager.addPass(createPlanStep(optionsOf(grid), to, device));
  });
}

OwningOpRef<ModuleOp> Search::formGraph(Grid grid, Found &found) {
  OwningOpRef<ModuleOp> graph(module.clone());
  grid.groups = devices / grid.ways; // With layers for any number of stages.
  grid.chunks = 1;
  if (failed(plan(*graph, grid, Level::Graph, found, found.said)))
    return {};
  return graph;
}

void Search::tryAll(ModuleOp graph, ArrayRef<Grid> grids, Found &found) const {
  for (const Grid &grid : grids) {
    OwningOpRef<ModuleOp> trial(graph.clone());
    std::vector<Diagnostic> said;
    if (failed(plan(*trial, grid, Level::Program, found, said)))
      continue;
    Seconds seconds = promisedTime(*trial);
    if (seconds >= found.seconds)
      continue;
    found.seconds = seconds;
    found.grid = grid;
    found.planned = std::move(trial);
    found.said.erase(found.said.begin() + ptrdiff_t(found.ofGraph),
                     found.said.end());
    std::move(said.begin(), said.end(), std::back_inserter(found.said));
  }
}

void Search::tryHalves(Found &found) {
  Grid grid = found.grid;
  if (grid.ways == 1 || grid.groups == 1 || options.chunks ||
      findGenerator(options.schedule))
    return;
  std::vector<Grid> grids;
  for (Grid each : found.grids)
    if (each.groups == grid.groups) {
      each.schedule = each.chunks == 1 ? kOfHalves : kOfChunksOfHalves;
      grids.push_back(each);
    }
  grid.schedule = kOfHalves;
  Found halves; // Its remarks on the graph are those of `found`.
  if (OwningOpRef<ModuleOp> graph = formGraph(grid, halves))
    tryAll(*graph, grids, found);
}

Found Search::fastest(int64_t ways) {
  Found found;
  found.grid.ways = ways;
  if (ways == 1) {
    OwningOpRef<ModuleOp> whole(module.clone());
    if (succeeded(
            plan(*whole, found.grid, Level::Program, found, found.said))) {
      found.seconds = promisedTime(*whole);
      found.planned = std::move(whole);
    }
    return found;
  }
  OwningOpRef<ModuleOp> graph = formGraph(found.grid, found);
  if (!graph)
    return found;
  found.ofGraph = found.said.size();
  int64_t microbatches = options.microbatches.value_or(
      pipeline::statedMicrobatches(module).value_or(
          pipeline::kDefaultMicrobatches));
  FailureOr<std::vector<Grid>> grids =
      gridsOf(*graph->getOps<pipeline::GraphOp>().begin(), ways, microbatches,
              cluster, options);
  if (failed(grids))
    return found;
  found.grids = std::move(*grids);
  tryAll(*graph, found.grids, found);
  if (!found.fits() && found.problem.empty())
    found.problem = "stages and copies as asked for take other devices";
  return found;
}

void Search::tell(const Found &found) {
  const Grid &grid = found.grid;
  InFlightDiagnostic remark = emitRemark(module.getLoc());
  remark << (grid.ways == 1
                 ? "whole layers"
                 : "layers over " + std::to_string(grid.ways) + " shards");
  if (!found.fits()) {
    remark << " have no plan: " << found.problem;
    return;
  }
  remark << ": " << toString(found.seconds) << " a step";
  auto counted = [](int64_t count, const char *one, const char *several) {
    return std::to_string(count) + " " + (count == 1 ? one : several);
  };
  if (grid.ways > 1)
    remark << ", in " << counted(grid.stages(), "stage", "stages") << " and "
           << counted(grid.copies, "copy", "copies");
  if (grid.chunks > 1)
    remark << ", " << grid.chunks << " stages on each device";
  if (!grid.schedule.empty())
    remark << ", by the schedule " << grid.schedule;
}

FailureOr<ShardChoice> Search::run() {
  std::vector<Found> all;
  Seconds least(std::numeric_limits<double>::infinity());
  std::string problem;
  int inVain = 0;
  for (int64_t ways : divisorsOf(devices)) {
    if (ways > most || inVain == kMostInVain)
      break;
    if (ways == 1 && options.dataParallel) // Only applies to shards.
      continue;
    Found &found = all.emplace_back(fastest(ways));
    tell(found);
    bool isBetter = found.seconds < least;
    // As long as nothing fits in memory, more shards may fit.
    inVain = isBetter || !std::isfinite(least.value) ? 0 : inVain + 1;
    if (problem.empty())
      problem = found.problem;
    least = std::min(least, found.seconds);
    for (Found &other : all)
      if (other.seconds.value > kNearBest * least.value)
        other.planned = {};
  }
  Found *best = nullptr;
  for (Found &found : all) {
    if (!found.fits() || found.seconds.value > kNearBest * least.value)
      continue;
    Seconds before = found.seconds;
    tryHalves(found);
    if (found.seconds < before)
      tell(found);
    if (!best || found.seconds < best->seconds)
      best = &found;
  }
  if (!best)
    return emitError(module.getLoc())
           << "no number of shards has a plan for " << devices
           << (devices == 1 ? " device: " : " devices: ") << problem;
  return ShardChoice{optionsOf(best->grid), std::move(best->planned),
                     std::move(best->said)};
}

} // namespace

FailureOr<ShardChoice>
chooseShards(ModuleOp module, const CompileOptions &options,
             const std::shared_ptr<const DeviceTarget> &device) {
  if (options.shards != kChooseShards)
    return ShardChoice{options, {}, {}};
  if (has<pipeline::GraphOp>(module) || has<pipeline::ProgramOp>(module)) {
    CompileOptions whole = options; // Layers of a graph cannot be split.
    whole.shards = std::nullopt;
    return ShardChoice{whole, {}, {}};
  }
  if (options.schedule != "plan" && !findGenerator(options.schedule))
    return emitError(module.getLoc())
           << "a number of shards is chosen for a schedule with a name, such "
           << "as 1f1b, or the planner's own, not for '" << options.schedule
           << "'";
  FailureOr<std::optional<Cluster>> cluster =
      pipeline::findCluster(module, options.cluster);
  if (failed(cluster))
    return failure();
  if (!*cluster)
    return emitError(module.getLoc())
           << "a number of shards is chosen for a cluster, and none is given; "
           << "name one, as --cluster=local:4";
  return Search(module, options, **cluster, device).run();
}

} // namespace stagewright
