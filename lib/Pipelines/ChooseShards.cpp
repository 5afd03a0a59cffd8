//===- ChooseShards.cpp - how many devices share a layer ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseShards.h"
#include "PlanStep.h"
#include "RunPasses.h"
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

/// Numbers of stages per group of shards that are tried if no schedule is
/// requested; more than one run in the schedule kOfChunks.
constexpr int64_t kChunks[] = {1, 2, 4};
constexpr const char *kOfChunks = "interleaved";

struct Grid {
  int64_t ways = 1, groups = 1, chunks = 1, copies = 1;
  std::string schedule; ///< Empty: that of the options.

  int64_t stages() const { return groups * chunks; }
};

/// The fastest plan for one number of shards.
struct Found {
  Grid grid;
  Seconds seconds = Seconds(std::numeric_limits<double>::infinity());
  std::string problem; ///< The first error of a plan that failed.
  OwningOpRef<ModuleOp> planned;
  std::vector<Diagnostic> said; ///< Remarks and warnings of the plan.

  bool fits() const { return std::isfinite(seconds.value); }
};

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i)
    if (number % i == 0)
      divisors.push_back(i);
  return divisors;
}

class Search {
public:
  Search(ModuleOp module, const CompileOptions &options, const Cluster &cluster,
         const std::shared_ptr<const DeviceTarget> &device)
      : module(module), options(options), device(device),
        devices(int64_t(cluster.devices.size())) {
    llvm::SmallDenseMap<int64_t, int64_t> ofHost;
    for (const Device &each : cluster.devices)
      most = std::max(most, ++ofHost[each.node]);
  }

  FailureOr<ShardChoice> run();

private:
  /// By number of groups: with more and more stages on each device.
  using Grids = std::vector<std::vector<Grid>>;
  Grids gridsOf(int64_t ways, bool joins) const;
  CompileOptions optionsOf(const Grid &grid) const;
  Found fastest(int64_t ways);
  LogicalResult plan(ModuleOp trial, const Grid &grid, Level to, Found &found,
                     std::vector<Diagnostic> &said) const;
  void tell(const Found &found);

  ModuleOp module;
  const CompileOptions &options;
  std::shared_ptr<const DeviceTarget> device;
  int64_t devices;
  int64_t most = kMostAcrossHosts; ///< Max number of shards tried.
};

/// The grids of `ways` shards that take all devices, with at most one copy per
/// microbatch, and that agree with the options.
Search::Grids Search::gridsOf(int64_t ways, bool joins) const {
  int64_t microbatches = options.microbatches.value_or(
      pipeline::statedMicrobatches(module).value_or(
          pipeline::kDefaultMicrobatches));
  auto generator = findGenerator(options.schedule);
  Grids grids;
  for (int64_t groups : divisorsOf(devices / ways)) {
    int64_t copies = options.dataParallel.value_or(
        joins ? 1 : std::min(devices / (ways * groups), microbatches));
    if (ways * groups * copies > devices)
      continue;
    std::vector<Grid> &list = grids.emplace_back();
    auto add = [&](int64_t chunks, const char *schedule) {
      Grid grid{ways, groups, chunks, copies, schedule};
      if (options.stages.value_or(grid.stages()) == grid.stages())
        list.push_back(grid);
    };
    if (groups == 1)
      add(1, "");
    else if (generator || options.chunks)
      add(options.chunks.value_or(generator ? generator->leastChunks : 1), "");
    else
      for (int64_t chunks : kChunks)
        // The schedule runs rounds of as many microbatches as groups.
        if (chunks == 1 || microbatches % (copies * groups) == 0)
          add(chunks, chunks == 1 ? "" : kOfChunks);
  }
  return grids;
}

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

Found Search::fastest(int64_t ways) {
  Found found;
  found.grid.ways = ways;
  OwningOpRef<ModuleOp> split(module.clone());
  Level to = ways == 1 ? Level::Program : Level::Graph;
  Grid most = found.grid; // With layers for any number of stages.
  most.groups = devices / ways;
  if (failed(plan(*split, most, to, found, found.said)))
    return found;
  if (ways == 1) {
    found.seconds = promisedTime(*split);
    found.planned = std::move(split);
    return found;
  }
  const size_t ofGraph = found.said.size();
  bool joins =
      pipeline::joinsResults(*split->getOps<pipeline::GraphOp>().begin());
  for (const std::vector<Grid> &list : gridsOf(ways, joins)) {
    Seconds before(std::numeric_limits<double>::infinity());
    for (const Grid &grid : list) {
      OwningOpRef<ModuleOp> trial(split->clone());
      std::vector<Diagnostic> said;
      if (failed(plan(*trial, grid, Level::Program, found, said)))
        continue;
      Seconds seconds = promisedTime(*trial);
      if (seconds < found.seconds) {
        found.seconds = seconds;
        found.grid = grid;
        found.planned = std::move(trial);
        found.said.erase(found.said.begin() + ptrdiff_t(ofGraph),
                         found.said.end());
        std::move(said.begin(), said.end(), std::back_inserter(found.said));
      }
      if (seconds >= before) // More stages on each device do not help.
        break;
      before = seconds;
    }
  }
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
}

FailureOr<ShardChoice> Search::run() {
  Found best;
  std::string problem;
  int inVain = 0;
  for (int64_t ways : divisorsOf(devices)) {
    if (ways > most || inVain == kMostInVain)
      break;
    if (ways == 1 && options.dataParallel) // Only applies to shards.
      continue;
    Found found = fastest(ways);
    tell(found);
    bool isBetter = found.seconds < best.seconds;
    // As long as nothing fits in memory, more shards may fit.
    inVain = isBetter || !best.fits() ? 0 : inVain + 1;
    if (problem.empty())
      problem = found.problem;
    if (isBetter)
      best = std::move(found);
  }
  if (!best.fits())
    return emitError(module.getLoc())
           << "no number of shards has a plan for " << devices
           << (devices == 1 ? " device: " : " devices: ") << problem;
  return ShardChoice{optionsOf(best.grid), std::move(best.planned),
                     std::move(best.said)};
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
