//===- FitArenas.cpp - plans that fit by real arenas ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FitArenas.h"
#include "RunPasses.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/Rows.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Dialect/Silence.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Request.h"
#include "stagewright/Planning/ShareSearch.h"
#include "llvm/Support/JSON.h"
#include <algorithm>

namespace stagewright {

/// Factors of the memory for which plans are tried if the planner finds none,
/// the largest first, and a factor with which every plan fits.
static constexpr double kMore[] = {1.25, 1.125, 1.06, 1.03, 1.015},
                        kUnlimited = 0x1p60;

/// If the memory is at least this many times the bytes that are counted for a
/// plan, its arenas are assumed to fit.
static constexpr double kSlack = 1.05;

/// Whether replicas might share samples, and workspaces have been measured,
/// which is not done if every plan fits (MeasureWorkspaces.h).
static bool mayDepend(pipeline::GraphOp graph) {
  return pipeline::rowsOf(graph).samples > 1 &&
         llvm::any_of(
             graph.getBody().getOps<pipeline::NodeOp>(),
             [](pipeline::NodeOp node) { return node.getWorkspace(); });
}

/// By stage of a plan of `count` stages, whether `text` states its shares.
static std::vector<bool> statedShares(StringRef text, size_t count) {
  std::vector<bool> stated(count, false);
  if (text.contains('{')) {
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
    if (!json) {
      llvm::consumeError(json.takeError());
      return stated;
    }
    const llvm::json::Object *object = json->getAsObject();
    const llvm::json::Array *stages =
        object ? object->getArray("stages") : nullptr;
    for (size_t s = 0; stages && s < std::min(count, stages->size()); ++s)
      if (const llvm::json::Object *stage = (*stages)[s].getAsObject())
        stated[s] = stage->get("rows");
    return stated;
  }
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  for (auto [stage, word] : llvm::zip(stated, words))
    stage = word.contains(':');
  return stated;
}

/// The plan of `program`, with shares and levels; none if planners do not
/// simulate its schedule.
static std::optional<Plan> simulatedPlanOf(pipeline::ProgramOp program) {
  StringRef schedule = program.getPlanAttr().getSchedule().getValue();
  if (!programOrder(schedule))
    return std::nullopt;
  Plan plan = pipeline::planOf(program);
  auto stages = program.getBody().front().getOps<pipeline::StageOp>();
  for (auto [stage, op] : llvm::zip_equal(plan.stages, stages)) {
    if (auto rows = op.getRows())
      stage.rows = rows->vec();
    if (auto levels = op.getLevels())
      stage.levels = levels->vec();
  }
  return plan;
}

/// Replaces the clusters of `module`.
static void putCluster(ModuleOp module, const Cluster &cluster) {
  for (auto op :
       llvm::make_early_inc_range(module.getOps<pipeline::ClusterOp>()))
    op.erase();
  pipeline::writeCluster(module, cluster);
}

namespace {
class ArenaFitter {
public:
  ArenaFitter(ModuleOp module, pipeline::PartitionOptions how,
              pipeline::RunPipeline run,
              function_ref<void(OpPassManager &)> buildRanks, Problem problem)
      : module(module), how(std::move(how)), run(run), buildRanks(buildRanks),
        problem(std::move(problem)), graph(module.clone()) {}

  LogicalResult fit();

private:
  pipeline::PartitionOptions optionsFor(const Plan &plan,
                                        const Shares &shares) const;
  void enlarge(ModuleOp module, pipeline::PartitionOptions &own,
               double times) const;
  OwningOpRef<ModuleOp> planned(pipeline::PartitionOptions own,
                                double times) const;
  std::optional<Arenas> arenasOf(ModuleOp program, const Plan &plan) const;
  std::optional<Plan> sharedPlan(ModuleOp program) const;
  bool leavesRoom(const Plan &plan) const;
  LogicalResult take(const Plan &plan, const Shares &shares,
                     pipeline::PlanAttr found);

  ModuleOp module;
  pipeline::PartitionOptions how;
  pipeline::RunPipeline run;
  function_ref<void(OpPassManager &)> buildRanks;
  Problem problem;
  OwningOpRef<ModuleOp> graph; ///< Before it was planned.
};
} // namespace

static pipeline::ProgramOp programIn(ModuleOp module) {
  return *module.getOps<pipeline::ProgramOp>().begin();
}

/// Options that ask for `plan` with `shares`, for the cluster of the module.
pipeline::PartitionOptions ArenaFitter::optionsFor(const Plan &plan,
                                                   const Shares &shares) const {
  Plan asked = plan;
  for (auto [stage, own] : llvm::zip_equal(asked.stages, shares))
    stage.rows = own;
  pipeline::PartitionOptions options = how;
  options.plan = planToJson(problem, asked);
  // With more memory, the planner might choose a faster schedule.
  options.schedule = scheduleOf(asked);
  return options;
}

/// Gives the devices of `module` `times` as much memory, for pipeline-partition
/// with the options `own`.
void ArenaFitter::enlarge(ModuleOp module, pipeline::PartitionOptions &own,
                          double times) const {
  Cluster roomy = problem.cluster;
  for (Device &device : roomy.devices)
    device.memory =
        Bytes(int64_t(std::min(times * double(device.memory.value), 0x1p60)));
  own.cluster = own.memory = "";
  putCluster(module, roomy);
}

/// A clone of the graph, planned with `own` for `times` the memory; null if
/// there is no plan.
OwningOpRef<ModuleOp> ArenaFitter::planned(pipeline::PartitionOptions own,
                                           double times) const {
  OwningOpRef<ModuleOp> trial(graph.get().clone());
  enlarge(*trial, own, times);
  Silence silence(trial->getContext());
  if (failed(runAside(*trial, [&](OpPassManager &manager) {
        manager.addPass(pipeline::createPartition(own));
      })))
    return {};
  return trial;
}

/// The arenas of the planned module `program`; none if it cannot be lowered.
std::optional<Arenas> ArenaFitter::arenasOf(ModuleOp program,
                                            const Plan &plan) const {
  OwningOpRef<ModuleOp> lowered(program.clone());
  Silence silence(lowered->getContext());
  if (failed(runAside(*lowered, buildRanks)))
    return std::nullopt;
  llvm::StringMap<int64_t> byDevice;
  for (auto rank : lowered->getOps<rank::ProgramOp>())
    if (DictionaryAttr memory = rank.getMemoryAttr())
      byDevice[rank.getDevice()] = memory.getAs<IntegerAttr>("arena").getInt();
  Arenas arenas;
  for (const StagePlan &stage : plan.stages) {
    std::vector<int64_t> &own = arenas.emplace_back();
    for (size_t device : stage.devices) {
      auto found = byDevice.find(problem.cluster.devices[device].name);
      if (found == byDevice.end())
        return std::nullopt;
      own.push_back(found->second);
    }
  }
  return arenas;
}

/// The plan of `program`, if replicas share samples in it and planners simulate
/// its schedule.
std::optional<Plan> ArenaFitter::sharedPlan(ModuleOp program) const {
  std::optional<Plan> plan = simulatedPlanOf(programIn(program));
  bool shares = plan && llvm::any_of(plan->stages, [](const StagePlan &stage) {
                  return !stage.rows.empty();
                });
  return shares ? plan : std::nullopt;
}

/// Whether so few bytes are counted for `plan`, the plan of the module, that
/// its arenas must fit.
bool ArenaFitter::leavesRoom(const Plan &plan) const {
  // Shards share rings (rank-share-rings), of which memoryOf() knows nothing.
  if (pipeline::hasShards(*graph.get().getOps<pipeline::GraphOp>().begin()))
    return false;
  Problem counted = problem;
  counted.microbatches = int64_t(programIn(module).getMicrobatches());
  ModuleOp own = module;
  pipeline::shareMicrobatches(*own.getOps<pipeline::GraphOp>().begin(),
                              counted);
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (auto [bytes, device] : llvm::zip_equal(
             memoryOf(counted, plan, s, plan.order), plan.stages[s].devices))
      if (kSlack * double(bytes.value) >
          double(counted.cluster.devices[device].memory.value))
        return false;
  return true;
}

/// Plans the module as `plan` with `shares`, which fit. Keeps the bound and the
/// planner of `found`.
LogicalResult ArenaFitter::take(const Plan &plan, const Shares &shares,
                                pipeline::PlanAttr found) {
  pipeline::PartitionOptions options = optionsFor(plan, shares);
  enlarge(module, options, kUnlimited);
  OpPassManager manager(ModuleOp::getOperationName());
  manager.addPass(pipeline::createPartition(options));
  // The first run has made the same remarks.
  Silence silence(module.getContext(), Silence::Errors);
  if (failed(run(manager)))
    return failure();
  putCluster(module, problem.cluster);
  pipeline::ProgramOp program = programIn(module);
  pipeline::PlanAttr own = program.getPlanAttr();
  program.setPlanAttr(pipeline::PlanAttr::get(
      own.getContext(), own.getTime(), found.getBound(), found.getPlanner(),
      own.getPlanBound(), own.getSchedule()));
  return success();
}

LogicalResult ArenaFitter::fit() {
  std::vector<Diagnostic> said;
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler keep(module.getContext(), [&](Diagnostic &it) {
      said.push_back(std::move(it));
    });
    OpPassManager manager(ModuleOp::getOperationName());
    manager.addPass(pipeline::createPartition(how));
    result = run(manager);
  }
  auto report = [&](bool all) {
    for (Diagnostic &it : said)
      if (all || it.getSeverity() != DiagnosticSeverity::Error)
        module.getContext()->getDiagEngine().emit(std::move(it));
    return result;
  };
  OwningOpRef<ModuleOp> roomy;
  if (failed(result)) {
    for (double times : kMore) {
      OwningOpRef<ModuleOp> smaller = planned(how, times);
      if (!smaller)
        break;
      roomy = std::move(smaller);
    }
    if (!roomy)
      return report(true);
  }
  ModuleOp first = roomy ? *roomy : module;
  std::optional<Plan> plan = sharedPlan(first);
  if (plan && !roomy && leavesRoom(*plan))
    return report(true);
  std::optional<Arenas> arenas;
  if (plan)
    arenas = arenasOf(first, *plan);
  if (!arenas)
    return report(true);
  std::vector<bool> stated = statedShares(how.plan, plan->stages.size());
  for (auto [stage, isStated] : llvm::zip_equal(plan->stages, stated))
    isStated = isStated || stage.rows.empty();
  ShareSearch search(problem, *plan, stated, [&](const Shares &shares) {
    if (arenas) // Those of the first shares are known.
      return std::exchange(arenas, std::nullopt);
    OwningOpRef<ModuleOp> trial =
        planned(optionsFor(*plan, shares), kUnlimited);
    return trial ? arenasOf(*trial, *plan) : std::nullopt;
  });
  std::optional<Shares> shares = search.run();
  if (!shares) {
    (void)report(false);
    return emitError(module.getLoc(), search.error());
  }
  (void)report(false);
  bool isSame =
      succeeded(result) &&
      llvm::all_of(llvm::zip_equal(plan->stages, *shares),
                   [](const auto &pair) {
                     return std::get<0>(pair).rows == std::get<1>(pair);
                   });
  if (isSame)
    return success();
  return take(*plan, *shares, programIn(first).getPlanAttr());
}

LogicalResult
partitionByArenas(ModuleOp module, pipeline::PartitionOptions how,
                  pipeline::RunPipeline run,
                  function_ref<void(OpPassManager &)> buildRanks) {
  auto plain = [&] {
    OpPassManager manager(ModuleOp::getOperationName());
    manager.addPass(pipeline::createPartition(how));
    return run(manager);
  };
  auto graphs = llvm::to_vector(module.getOps<pipeline::GraphOp>());
  if (graphs.size() != 1 || how.maxReplicas == 1 || !mayDepend(graphs.front()))
    return plain();
  FailureOr<std::optional<Cluster>> cluster =
      pipeline::findCluster(module, how.cluster);
  if (failed(cluster) || !*cluster)
    return plain();
  if (Result<Bytes> limit = parseBytes(how.memory); limit)
    for (Device &device : (*cluster)->devices)
      device.memory = *limit;
  FailureOr<Problem> problem = pipeline::problemOf(graphs.front(), **cluster);
  if (failed(problem))
    return failure();
  return ArenaFitter(module, std::move(how), run, buildRanks,
                     std::move(*problem))
      .fit();
}

} // namespace stagewright
