//===- ChooseShards.cpp - how many devices share a layer ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseShards.h"
#include "PlanStep.h"
#include "RunPasses.h"
#include "ShardTrials.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Silence.h"
#include "stagewright/Pipelines/Shards.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Support/Text.h"
#include "stagewright/Support/Units.h"
#include <limits>
#include <list>

namespace stagewright {

/// Max number of shards, unless a host has more devices.
static constexpr int64_t kMostAcrossHosts = 8;

std::vector<int64_t> numbersOfShards(const Cluster &cluster) {
  auto devices = int64_t(cluster.devices.size()), most = kMostAcrossHosts;
  llvm::MapVector<int64_t, int64_t> ofHost;
  for (const Device &each : cluster.devices)
    most = std::max(most, ++ofHost[each.node]);
  // The shards of a layer are on one host if they fit, which needs a number
  // that divides the devices of the host. Powers of two are always tried: most
  // dimensions can be split by them, and some by no other number.
  auto isTried = [&](int64_t ways) {
    return llvm::has_single_bit(uint64_t(ways)) ||
           llvm::all_of(ofHost, [&](const auto &host) {
             return host.second < ways || host.second % ways == 0;
           });
  };
  std::vector<int64_t> numbers;
  for (int64_t ways = 1; ways <= std::min(devices, most); ++ways)
    if (devices % ways == 0 && isTried(ways))
      numbers.push_back(ways);
  return numbers;
}

namespace {

/// A plan of gangs is tried if the planner of gangs expects it to take less
/// than kNearBest times as long as the best plan so far.
constexpr double kNearBest = 1.1;

/// The plans for one number of shards, and the fastest of them.
struct Found {
  GangShape shape;
  Seconds seconds = Seconds(std::numeric_limits<double>::infinity());
  /// What the planner of gangs expects of plans that were not tried.
  Seconds expected = Seconds(std::numeric_limits<double>::infinity());
  /// Lower bound on the time of all plans with that number of shards.
  Seconds bound = Seconds(std::numeric_limits<double>::infinity());
  std::string problem; ///< The first error before any plan was tried.
  std::string ofTrial; ///< The first error of a plan that was tried.
  OwningOpRef<ModuleOp> planned;
  std::vector<Diagnostic> said;    ///< Remarks and warnings of the plan.
  std::vector<Diagnostic> ofGraph; ///< Those of forming layers and a graph.
  bool hasForm = false; ///< Whether `ofGraph` has those of forming a graph.

  bool fits() const { return std::isfinite(seconds.value); }
  /// Why there is no plan.
  const std::string &why() const { return ofTrial.empty() ? problem : ofTrial; }
};

/// A graph of formGraph(): with whole backwards or with split ones.
struct Form {
  Found *found;
  OwningOpRef<ModuleOp> module;

  pipeline::GraphOp graph() const {
    return *module.get().getOps<pipeline::GraphOp>().begin();
  }
};

class Search {
public:
  Search(ModuleOp module, const CompileOptions &options, const Cluster &cluster,
         const std::shared_ptr<const DeviceTarget> &device)
      : module(module), options(options), device(device), cluster(cluster),
        devices(int64_t(cluster.devices.size())),
        microbatches(options.microbatches.value_or(
            pipeline::statedMicrobatches(module).value_or(
                pipeline::kDefaultMicrobatches))) {}

  FailureOr<ShardChoice> run();

private:
  CompileOptions optionsOf(const GangShape &shape, bool halves) const;
  void planWhole();
  Seconds boundOfWhole(Found &found);
  void planGroupsOf(int64_t ways);
  CompileOptions optionsOfLayers(const Found &found, bool halves) const;
  OwningOpRef<ModuleOp> formLayers(Found &found);
  OwningOpRef<ModuleOp> formGraph(ModuleOp layers, bool halves, Found &found);
  bool isSlow(const ShardTrial &trial);
  TrialOutcome attempt(const ShardTrial &trial);
  std::vector<ShardPlan> planInLess(size_t form, double less);
  LogicalResult plan(ModuleOp trial, const CompileOptions &how, Level to,
                     std::string &problem, std::vector<Diagnostic> &said) const;
  void tell(const Found &found);

  ModuleOp module;
  const CompileOptions &options;
  std::shared_ptr<const DeviceTarget> device;
  const Cluster &cluster;
  int64_t devices, microbatches;
  std::list<Found> all; ///< By number of shards.
  std::vector<Form> forms;
  std::vector<ShardTrial> trials;
  Seconds least = Seconds(std::numeric_limits<double>::infinity());
};

CompileOptions Search::optionsOf(const GangShape &shape, bool halves) const {
  CompileOptions own = options;
  if (!findGenerator(options.schedule))
    own.halves = halves;
  if (shape.ways == 1) { // The planner chooses stages and replicas.
    own.shards = std::nullopt;
    own.shardHints.clear();
    own.recomputeLayers = false;
    return own;
  }
  own.shards = shape.ways;
  own.stages = shape.stages();
  own.dataParallel = shape.copies;
  return own;
}

/// `problem`, if it is empty, becomes the first error; further errors are
/// dropped. Other diagnostics are appended to `said`.
static void keepDiagnostic(Diagnostic &it, std::string &problem,
                           std::vector<Diagnostic> &said) {
  if (it.getSeverity() != DiagnosticSeverity::Error)
    said.push_back(std::move(it));
  else if (problem.empty())
    problem = it.str();
}

/// Plans `trial`. `problem`, if it is empty, becomes the first error; further
/// errors are dropped. Other diagnostics are appended to `said`.
LogicalResult Search::plan(ModuleOp trial, const CompileOptions &how, Level to,
                           std::string &problem,
                           std::vector<Diagnostic> &said) const {
  ScopedDiagnosticHandler keep(trial.getContext(), [&](Diagnostic &it) {
    keepDiagnostic(it, problem, said);
  });
  return runAside(trial, [&](OpPassManager &manager) {
    manager.addPass(createPlanStep(how, to, device));
  });
}

/// Plans whole layers, which have a bound of their own.
void Search::planWhole() {
  Found &found = all.emplace_back();
  OwningOpRef<ModuleOp> whole(module.clone());
  if (failed(plan(*whole, optionsOf(found.shape, false), Level::Program,
                  found.problem, found.said))) {
    found.bound = boundOfWhole(found); // The planner may have missed a plan.
    return;
  }
  found.seconds = promisedTime(*whole);
  found.bound = promisedBound(*whole);
  found.planned = std::move(whole);
  least = std::min(least, found.seconds);
}

/// A bound on all plans of whole layers; infinite if they have no graph.
Seconds Search::boundOfWhole(Found &found) {
  Seconds none(std::numeric_limits<double>::infinity());
  OwningOpRef<ModuleOp> layers = formLayers(found);
  std::vector<Problem> forms;
  for (bool halves : {false, true}) {
    OwningOpRef<ModuleOp> graph;
    if (layers)
      graph = formGraph(*layers, halves, found);
    if (!graph || failed(runAside(*graph, [](OpPassManager &manager) {
          manager.addPass(pipeline::createInferSliceable());
        })))
      return none;
    auto op = *graph->getOps<pipeline::GraphOp>().begin();
    FailureOr<Problem> problem = pipeline::problemOf(op, cluster);
    if (failed(problem))
      return none;
    problem->microbatches = microbatches;
    pipeline::shareMicrobatches(op, *problem);
    forms.push_back(std::move(*problem));
  }
  return formsLowerBound(forms.front(), forms.back());
}

/// Options that form layers of as many shards as `found` has, for any number of
/// stages.
CompileOptions Search::optionsOfLayers(const Found &found, bool halves) const {
  GangShape shape = found.shape;
  shape.groups = devices / shape.ways;
  return optionsOf(shape, halves);
}

/// The layers; null, with a problem in `found`, if there are none.
OwningOpRef<ModuleOp> Search::formLayers(Found &found) {
  OwningOpRef<ModuleOp> layers(module.clone());
  if (failed(plan(*layers, optionsOfLayers(found, false), Level::Layers,
                  found.problem, found.ofGraph)))
    return {};
  return layers;
}

/// The graph of `layers`, with whole backwards or, if `halves`, with backwards
/// split into I and W; null, with a problem in `found`, if there is none.
OwningOpRef<ModuleOp> Search::formGraph(ModuleOp layers, bool halves,
                                        Found &found) {
  OwningOpRef<ModuleOp> graph(layers.clone());
  CompileOptions how = optionsOfLayers(found, halves);
  how.formed = true;
  std::vector<Diagnostic> said;
  if (failed(plan(*graph, how, Level::Graph, found.problem, said)))
    return {};
  // Both forms have the same remarks.
  if (!std::exchange(found.hasForm, true))
    llvm::move(said, std::back_inserter(found.ofGraph));
  return graph;
}

/// Finds plans of gangs of `ways` shards, to be tried later.
void Search::planGroupsOf(int64_t ways) {
  Found &found = all.emplace_back();
  found.shape.ways = ways;
  auto generator = findGenerator(options.schedule);
  OwningOpRef<ModuleOp> layers = formLayers(found);
  if (!layers)
    return;
  for (bool halves : {false, true}) {
    if (generator ? generator->splitsBackward != halves
                  : halves && (options.chunks.value_or(1) == 1 &&
                               options.stages.value_or(2) == 1))
      continue;
    OwningOpRef<ModuleOp> graph = formGraph(*layers, halves, found);
    if (!graph)
      return;
    size_t number = forms.size();
    pipeline::GraphOp op =
        forms.emplace_back(Form{&found, std::move(graph)}).graph();
    if (halves && !generator && pipeline::isForwardOnly(op))
      break; // Inference has only one form.
    FailureOr<ShardPlans> plans = failure();
    {
      std::vector<Diagnostic> said; // Forming the graph had the same remarks.
      ScopedDiagnosticHandler keep(op.getContext(), [&](Diagnostic &it) {
        keepDiagnostic(it, found.problem, said);
      });
      plans = planGroups(op, ways, microbatches, cluster, options);
    }
    if (failed(plans))
      return;
    found.bound = std::min(found.bound, plans->bound);
    for (ShardPlan &plan : plans->plans)
      trials.push_back({std::move(plan), number});
    if (found.problem.empty())
      found.problem = plans->problem;
  }
  if (found.problem.empty() &&
      (trials.empty() || forms[trials.back().form].found != &found))
    found.problem = "the requested numbers of stages and copies do not suit "
                    "gangs of " +
                    std::to_string(ways) + " devices";
}

/// Whether the planner of gangs expects the plan to be slow; if so, notes the
/// time in Found::expected.
bool Search::isSlow(const ShardTrial &trial) {
  if (trial.plan.seconds.value < kNearBest * least.value)
    return false;
  Found &found = *forms[trial.form].found;
  found.expected = std::min(found.expected, trial.plan.seconds);
  return true;
}

/// Plans one trial as a program, and keeps the program if it is the fastest.
TrialOutcome Search::attempt(const ShardTrial &trial) {
  const Form &form = forms[trial.form];
  Found &found = *form.found;
  ModuleOp graph = trial.plan.repeated ? *trial.plan.repeated : *form.module;
  OwningOpRef<ModuleOp> planned(graph.clone());
  CompileOptions how = optionsOf(trial.plan.shape, false);
  how.plan = trial.plan.json;
  how.recomputeLayers = false; // The graph already has what layers repeat.
  std::vector<Diagnostic> said;
  if (failed(plan(*planned, how, Level::Program, found.ofTrial, said))) {
    Silence quiet(module.getContext());
    planned = graph.clone();
    how.memory = kUnlimitedMemory;
    bool lacksMemory = succeeded(runAside(*planned, [&](OpPassManager &own) {
      own.addPass(createPlanStep(how, Level::Program, device));
    }));
    return lacksMemory ? TrialOutcome::NoMemory : TrialOutcome::Failed;
  }
  Seconds seconds = promisedTime(*planned);
  if (seconds >= found.seconds)
    return TrialOutcome::Planned;
  found.seconds = seconds;
  found.shape = trial.plan.shape;
  if (seconds >= least)
    return TrialOutcome::Planned;
  for (Found &other : all)
    other.planned = {};
  least = seconds;
  found.planned = std::move(planned);
  found.said = std::move(said);
  return TrialOutcome::Planned;
}

/// The plans of a form for devices with `less` percent less memory; empty if
/// there are none.
std::vector<ShardPlan> Search::planInLess(size_t form, double less) {
  Cluster smaller = cluster;
  double part = (100 - less) / 100;
  for (Device &each : smaller.devices)
    each.memory = Bytes(int64_t(part * double(each.memory.value)));
  Silence quiet(module.getContext());
  FailureOr<ShardPlans> plans =
      planGroups(forms[form].graph(), forms[form].found->shape.ways,
                 microbatches, smaller, options);
  if (failed(plans))
    return {};
  for (ShardPlan &plan : plans->plans)
    plan.share *= part;
  return std::move(plans->plans);
}

void Search::tell(const Found &found) {
  const GangShape &shape = found.shape;
  InFlightDiagnostic remark = emitRemark(module.getLoc());
  remark << (shape.ways == 1
                 ? "whole layers"
                 : "layers over " + std::to_string(shape.ways) + " shards");
  if (!found.fits() && std::isfinite(found.expected.value)) {
    remark << ": about " << toString(found.expected) << " a step; at least "
           << toString(found.bound);
    return;
  }
  if (!found.fits()) {
    remark << " have no plan: " << found.why();
    return;
  }
  remark << ": " << toString(found.seconds) << " a step";
  if (shape.ways > 1)
    remark << ", in " << counted(shape.stages(), "stage") << " and "
           << counted(shape.copies, "copy");
  if (shape.chunks > 1)
    remark << ", " << shape.chunks << " stages on each device";
  if (!shape.schedule.empty())
    remark << ", by the schedule " << shape.schedule;
  remark << "; at least " << toString(found.bound);
}

FailureOr<ShardChoice> Search::run() {
  for (int64_t ways : numbersOfShards(cluster))
    if (ways > 1)
      planGroupsOf(ways);
    else if (!options.dataParallel) // `dataParallel` is only for shards.
      planWhole();
  tryInOrder(
      std::move(trials),
      {[&](const ShardTrial &trial) { return isSlow(trial); },
       [&](const ShardTrial &trial) { return attempt(trial); },
       [&](size_t form, double less) { return planInLess(form, less); }});
  Found *best = nullptr;
  Seconds bound(std::numeric_limits<double>::infinity());
  std::string problem;
  for (Found &found : all) {
    tell(found);
    bound = std::min(bound, found.bound);
    if (found.planned)
      best = &found;
    if (problem.empty())
      problem = found.why();
  }
  if (!best)
    return emitError(module.getLoc())
           << "no number of shards has a plan for " << devices
           << (devices == 1 ? " device: " : " devices: ") << problem;
  setBound(*best->planned, std::min(bound, best->seconds));
  std::vector<Diagnostic> said = std::move(best->ofGraph);
  std::move(best->said.begin(), best->said.end(), std::back_inserter(said));
  auto generator = findGenerator(best->shape.schedule);
  bool halves = generator && generator->splitsBackward;
  return ShardChoice{optionsOf(best->shape, halves), std::move(best->planned),
                     std::move(said)};
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
           << "the number of shards can be chosen for a schedule by name, such "
              "as 1f1b, or for the planner's own, but not for '"
           << options.schedule << "'";
  FailureOr<std::optional<Cluster>> cluster =
      pipeline::findCluster(module, options.cluster);
  if (failed(cluster))
    return failure();
  if (!*cluster)
    return emitError(module.getLoc())
           << "choosing the number of shards needs a cluster; name one, such "
              "as --cluster=local:4";
  if (!options.memory.empty()) {
    Result<Bytes> limit = parseBytes(options.memory);
    if (!limit)
      return emitError(module.getLoc()) << limit.error().message;
    for (Device &each : (*cluster)->devices)
      each.memory = *limit;
  }
  return Search(module, options, **cluster, device).run();
}

} // namespace stagewright
