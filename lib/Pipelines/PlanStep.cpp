//===- PlanStep.cpp - from an imported step to a program ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanStep.h"
#include "ApplyAnnotations.h"
#include "ChooseShards.h"
#include "FitArenas.h"
#include "MeasureWorkspaces.h"
#include "PlanShards.h"
#include "RepeatLevels.h"
#include "RunPasses.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ScheduleData.h"
#include "stagewright/Conversion/PipelineToRank/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Silence.h"
#include "stagewright/Pipelines/Pipelines.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Target/DeviceTarget.h"
#include <algorithm>
#include <limits>

namespace stagewright {

void buildBodies(OpPassManager &manager, const CompileOptions &options,
                 const DeviceTarget *device, bool ranks) {
  HostPipelineOptions how;
  how.splitFloat32 = options.float32 == Float32Products::Tf32x3;
  how.ranks = ranks;
  how.bytes = device && device->multipliesBytes();
  device ? buildDeviceBodyPipeline(manager, how)
         : buildBodyPipeline(manager, how);
}

/// The program of `module` that has a plan, or null.
static pipeline::ProgramOp plannedIn(ModuleOp module) {
  for (auto program : module.getOps<pipeline::ProgramOp>())
    if (program.getPlanAttr())
      return program;
  return {};
}

Seconds promisedTime(ModuleOp module) {
  pipeline::ProgramOp program = plannedIn(module);
  return Seconds(program ? program.getPlanAttr().getTime().getValueAsDouble()
                         : std::numeric_limits<double>::infinity());
}

Seconds promisedBound(ModuleOp module) {
  pipeline::ProgramOp program = plannedIn(module);
  return Seconds(program ? program.getPlanAttr().getBound().getValueAsDouble()
                         : std::numeric_limits<double>::infinity());
}

void setBound(ModuleOp module, Seconds bound) {
  pipeline::ProgramOp program = plannedIn(module);
  if (!program)
    return;
  pipeline::PlanAttr own = program.getPlanAttr();
  program.setPlanAttr(pipeline::PlanAttr::get(
      own.getContext(), own.getTime(),
      FloatAttr::get(own.getBound().getType(), bound.value), own.getPlanner(),
      own.getPlanBound(), own.getSchedule()));
}

namespace {

/// What a schedule requires of graph and partition; absent: any value.
struct Needs {
  bool split = false; ///< I and W as separate nodes.
  std::optional<int64_t> stages, chunks, microbatches;
  std::string placement;
  std::string plannedFor = "auto"; ///< schedule= of pipeline-partition.
};

FailureOr<Needs> needsOf(ModuleOp module, const CompileOptions &options) {
  Needs needs;
  if (StringRef(options.schedule).ends_with(".csv")) {
    FailureOr<Schedule> schedule =
        pipeline::readScheduleFile(module.getLoc(), options.schedule);
    if (failed(schedule))
      return failure();
    auto where = pipeline::placementOf(module.getLoc(), *schedule);
    if (failed(where))
      return failure();
    needs.split = pipeline::splitsBackward(*schedule);
    needs.stages = schedule->stages;
    needs.chunks = where->chunks;
    needs.microbatches = schedule->microbatches;
    needs.placement = toString(where->placement);
  } else {
    needs.split = options.halves || options.schedule == "auto" ||
                  splitsBackward(options.plan);
  }
  if (Result<Generator> generator = findGenerator(options.schedule)) {
    needs.split = generator->splitsBackward;
    needs.plannedFor = options.schedule;
  } else if (options.schedule == "auto") {
    needs.chunks = 1; // The search only orders the actions of a plan.
  }
  auto given = [](std::optional<int64_t> &need, std::optional<int64_t> option) {
    if (option)
      need = option;
  };
  given(needs.stages, options.stages);
  given(needs.chunks, options.chunks);
  given(needs.microbatches, options.microbatches);
  if (!options.placement.empty())
    needs.placement = options.placement;
  return needs;
}

/// What forwards keep, with the default of the target: on devices `written`,
/// which is fastest, unless backwards are to repeat contractions.
std::string stashOf(const CompileOptions &options) {
  if (!options.stash.empty())
    return options.stash;
  return options.target == "host" || options.repeatRatio ? "least" : "written";
}

/// The numbers in a text such as `2x2`, with 0 for each part that is not a
/// number. An empty text has no numbers.
SmallVector<int64_t> numbersIn(StringRef text, char separator) {
  SmallVector<StringRef> parts;
  if (!text.empty())
    text.split(parts, separator);
  SmallVector<int64_t> numbers;
  for (StringRef part : parts)
    if (part.getAsInteger(10, numbers.emplace_back()))
      numbers.back() = 0;
  return numbers;
}

SmallVector<int64_t> gridOf(StringRef text) { return numbersIn(text, 'x'); }

/// Fails if the grid of `options` is malformed, or if the grid and `shards`
/// state different numbers of shards.
LogicalResult checkGridSize(Location loc, const CompileOptions &options) {
  constexpr int64_t kMost = 1 << 30; // pipeline-shard allows fewer.
  int64_t shards = 1;
  for (int64_t size : gridOf(options.shardGrid)) {
    if (size < 1)
      return emitError(loc) << "shard-grid is '" << options.shardGrid
                            << "', expected numbers of shards with 'x' "
                            << "between them, such as 2x2";
    shards = std::min(shards * std::min(size, kMost), kMost);
  }
  if (options.shardGrid.empty() || options.shards == shards)
    return success();
  auto error = emitError(loc);
  error << "shards form a grid of " << options.shardGrid << ", which has "
        << shards << " shards, but their number is ";
  if (!options.shards)
    return error << "not given; give it too, such as shards=" << shards;
  return error << *options.shards << "; give the product of the grid's axes";
}

/// Fails if the shards of each stage in `options` are malformed, or other
/// options need equal stages.
LogicalResult checkStageShards(Location loc, const CompileOptions &options) {
  if (options.stageShards.empty() && !options.stageDevices.empty())
    return emitError(loc) << "stage-devices are given, '"
                          << options.stageDevices << "', but no numbers of "
                          << "shards for each stage; give them too, such as "
                          << "--tensor-parallel=4,2";
  if (options.stageShards.empty())
    return success();
  SmallVector<int64_t> counts = numbersIn(options.stageShards, ',');
  if (counts.empty() || *llvm::min_element(counts) < 1)
    return emitError(loc) << "stage-shards is '" << options.stageShards
                          << "', expected a number of shards for each stage, "
                          << "such as 4,2";
  int64_t most = *llvm::max_element(counts);
  if (options.shards != most)
    return emitError(loc) << "stages have " << options.stageShards
                          << " shards, so the number of shards must be "
                          << "their max, " << most << ", but it is "
                          << options.shards.value_or(1);
  if (options.stages && *options.stages != int64_t(counts.size()))
    return emitError(loc) << "numbers of shards are given for " << counts.size()
                          << " stages, " << options.stageShards
                          << ", but there are " << *options.stages
                          << " stages; give as many numbers as stages";
  const char *equal =
      !options.shardGrid.empty()              ? "a grid of shards"
      : options.dataParallel.value_or(1) != 1 ? "copies of the shards"
      : options.recomputeLayers               ? "recomputed layers"
      : options.chunks.value_or(1) != 1       ? "several stages per device"
      : !options.annotate.empty()             ? "annotations"
                                              : nullptr;
  if (equal)
    return emitError(loc)
           << equal << " need stages with equal numbers of shards, but these "
           << "are " << options.stageShards << "; give one number, or leave "
           << "out the other option";
  return success();
}

/// Adds passes that form layers and their bodies, with backwards split into I
/// and W.
void buildLayers(OpPassManager &manager, const CompileOptions &options) {
  manager.addPass(pipeline::createInferRoles());
  manager.addPass(pipeline::createSplitSlices());
  if (!options.annotate.empty()) {
    pipeline::AnnotateOptions annotate;
    annotate.annotate = options.annotate;
    manager.addPass(pipeline::createAnnotate(annotate));
  }
  if (options.shards) {
    pipeline::ShardOptions shards;
    shards.ways = *options.shards;
    shards.stages = numbersIn(options.stageShards, ',');
    shards.devices = options.stageDevices;
    if (!options.layers.empty() && !options.stageShards.empty())
      shards.layers = options.layers;
    shards.grid = gridOf(options.shardGrid);
    shards.hints = options.shardHints;
    shards.cluster = options.cluster;
    shards.scatters = options.sequenceParallel;
    shards.cuts = options.stageShards.empty() &&
                  (options.stages.value_or(1) > 1 || options.recomputeLayers);
    manager.addPass(pipeline::createShard(shards));
  }
  if (options.target != "host") {
    pipeline::RaiseAttentionOptions attention;
    attention.scoreBytes = options.scoreBytes.value_or(attention.scoreBytes);
    manager.addPass(pipeline::createRaiseAttention(attention));
  }
  pipeline::FormGraphOptions graph;
  if (options.shards) // pipeline-shard names layers by this scope.
    graph.layers = "1";
  else if (!options.layers.empty())
    graph.layers = options.layers;
  graph.cluster = options.cluster;
  graph.repeatRatio = options.repeatRatio.value_or(graph.repeatRatio);
  graph.kept = stashOf(options);
  manager.addPass(pipeline::createFormGraph(graph));
}

/// Adds passes that give backwards their form. A backward in one body does less
/// work, so I and W are separate only if the schedule splits backwards.
void buildForm(OpPassManager &manager, bool split) {
  if (!split)
    manager.addPass(pipeline::createMergeBackward());
  manager.addPass(pipeline::createUnifyBodies());
}

void buildCosts(OpPassManager &manager, const CompileOptions &options) {
  pipeline::EstimateCostOptions cost;
  cost.cluster = options.cluster;
  cost.profile = options.profile;
  manager.addPass(pipeline::createEstimateCost(cost));
}

/// Lets all layers over shards but the last repeat their forwards.
LogicalResult repeatLayers(ModuleOp module, const CompileOptions &options,
                           pipeline::RunPipeline run) {
  pipeline::GraphOp graph = *module.getOps<pipeline::GraphOp>().begin();
  FailureOr<std::optional<Cluster>> cluster =
      pipeline::findCluster(module, options.cluster);
  if (failed(cluster))
    return failure();
  // planShards() reports that there is no cluster.
  if (!*cluster || pipeline::isForwardOnly(graph))
    return success();
  FailureOr<Problem> problem = pipeline::problemOf(graph, **cluster);
  if (failed(problem))
    return failure();
  if (failed(checkNotRepeated(graph)))
    return failure();
  std::vector<ShardLevel> levels = levelsOf(graph, *problem, *options.shards);
  ShardedLayers layers = shardedLayersOf(levels, *options.shards, *problem);
  // A stage may have to end where the planner would not end it.
  std::vector<size_t> ends, asked = annotatedEnds(graph, levels);
  std::set_union(layers.ends.begin(), layers.ends.end(), asked.begin(),
                 asked.end(), std::back_inserter(ends));
  layers.ends = std::move(ends);
  OpPassManager manager(ModuleOp::getOperationName());
  buildRepeats(manager, levels, allButLast(layers), options);
  // Estimating the costs of the graph has emitted the same remarks.
  Silence silence(module.getContext(), Silence::Errors);
  return run(manager);
}

pipeline::PartitionOptions partitionFor(const CompileOptions &options,
                                        const Needs &needs) {
  pipeline::PartitionOptions how;
  how.cluster = options.cluster;
  how.stages = needs.stages.value_or(how.stages);
  how.microbatches = needs.microbatches.value_or(how.microbatches);
  how.memory = options.memory;
  if (!options.planner.empty())
    how.planner = options.planner;
  how.maxReplicas = options.maxReplicas.value_or(how.maxReplicas);
  how.recomputeLevel = options.recomputeLevel.value_or(how.recomputeLevel);
  if (!options.offload.empty())
    how.offload = options.offload;
  how.plan = options.plan;
  how.chunks = needs.chunks.value_or(how.chunks);
  how.placement = needs.placement;
  how.schedule = needs.plannedFor;
  return how;
}

/// Whether a plan with backwards split into I and W is to be tried too, since
/// the options leave schedule, planner and stages open.
bool choosesHalves(const CompileOptions &options) {
  return !options.halves && !options.shards && options.schedule == "plan" &&
         options.plan.empty() && !options.stages && !options.chunks &&
         options.placement.empty() &&
         (options.planner.empty() || options.planner == "auto" ||
          options.planner == "placed");
}

/// Sets the bound on all plans in `module` to that of `other`, if lower.
void lowerBound(ModuleOp module, ModuleOp other) {
  if (plannedIn(other))
    setBound(module, std::min(promisedBound(module), promisedBound(other)));
}

class PlanStep : public PassWrapper<PlanStep, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanStep)

  PlanStep(const CompileOptions &options, Level to,
           std::shared_ptr<const DeviceTarget> device)
      : options(options), to(to), device(std::move(device)) {}

  StringRef getArgument() const final { return "plan-step"; }
  StringRef getName() const final { return "PlanStep"; }
  StringRef getDescription() const final {
    return "form layers, and cut them into stages";
  }

  void getDependentDialects(DialectRegistry &registry) const final {
    OpPassManager all(ModuleOp::getOperationName());
    buildLayers(all, options);
    buildForm(all, /*split=*/false);
    buildCosts(all, options);
    all.addPass(pipeline::createRepeatLayers());
    all.addPass(pipeline::createPartition(partitionFor(options, Needs())));
    all.addPass(pipeline::createSchedule());
    all.addPass(createLowerPipelineToRank());
    buildBodies(all, options, device.get());
    all.getDependentDialects(registry);
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    replaced = false;
    if (failed(checkGridSize(pipeline::placeOfStep(module), options)) ||
        failed(checkStageShards(pipeline::placeOfStep(module), options)))
      return signalPassFailure();
    FailureOr<ShardChoice> choice = chooseShards(module, options, device);
    if (failed(choice))
      return signalPassFailure();
    const CompileOptions &how = choice->options;
    if (how.recomputeLayers && (!how.shards || !how.plan.empty())) {
      emitError(module.getLoc())
          << "recompute-layers needs shards and no plan, but "
          << (how.shards ? "a plan is given; leave that out"
                         : "there are no shards; give their number")
          << ", or leave out recompute-layers";
      return signalPassFailure();
    }
    if (choice->planned && to >= Level::Program)
      return replaceBy(*choice->planned, choice->said);
    FailureOr<Needs> needs = needsOf(module, how);
    if (failed(needs))
      return signalPassFailure();
    if (has<pipeline::ProgramOp>(module))
      return;
    auto run = [&](OpPassManager &manager) {
      return runPipeline(manager, module);
    };
    if (to == Level::Layers)
      return formLayers(module, how);
    bool chooses = to >= Level::Program && choosesHalves(how) &&
                   !has<pipeline::GraphOp>(module);
    if (failed(chooses ? toBestProgram(how, *needs, run)
                       : toProgram(module, how, *needs, run)))
      return signalPassFailure();
    // The nested passes have invalidated analyses of what they changed.
    if (!replaced)
      markAllAnalysesPreserved();
  }

private:
  void formLayers(ModuleOp module, const CompileOptions &how) {
    OpPassManager manager(ModuleOp::getOperationName());
    if (!has<pipeline::GraphOp>(module))
      buildLayers(manager, how);
    if (failed(runPipeline(manager, module)))
      signalPassFailure();
  }

  LogicalResult toProgram(ModuleOp module, const CompileOptions &how,
                          const Needs &needs, pipeline::RunPipeline run) const {
    auto bodies = [&](OpPassManager &manager) {
      buildBodies(manager, how, device.get(), /*ranks=*/false);
    };
    OpPassManager manager(ModuleOp::getOperationName());
    bool isStep = !has<pipeline::GraphOp>(module);
    if (isStep)
      buildLayers(manager, how);
    if (isStep || how.formed)
      buildForm(manager, needs.split);
    buildCosts(manager, how);
    bool repeats = how.recomputeLayers && to >= Level::Program;
    if (failed(run(manager)) ||
        (repeats && failed(repeatLayers(module, how, run))) ||
        failed(measureWorkspaces(module, how, needs.microbatches, run, bodies)))
      return failure();
    if (to < Level::Program)
      return success();
    CompileOptions planned = how;
    Needs rest = needs;
    if (how.shards) {
      if (how.plan.empty()) {
        auto plan = planShards(*module.getOps<pipeline::GraphOp>().begin(), how,
                               numbersIn(how.stageShards, ','));
        if (failed(plan))
          return failure();
        planned.plan = *plan;
      }
      rest.plannedFor = "auto"; // The plan includes its schedule.
      rest.chunks = rest.stages = std::nullopt;
      OpPassManager partition(ModuleOp::getOperationName());
      partition.addPass(pipeline::createPartition(partitionFor(planned, rest)));
      return run(partition);
    }
    return partitionByArenas(module, partitionFor(planned, rest), run,
                             [&](OpPassManager &manager) {
                               buildRanks(manager, how, device.get());
                             });
  }

  /// Plans the module with whole backwards and a clone of it with backwards
  /// split into I and W, and keeps the better plan.
  LogicalResult toBestProgram(CompileOptions how, const Needs &needs,
                              pipeline::RunPipeline run) {
    ModuleOp module = getOperation();
    OpPassManager layers(ModuleOp::getOperationName());
    buildLayers(layers, how);
    if (failed(run(layers)))
      return failure();
    how.formed = true;
    OwningOpRef<ModuleOp> apart(module.clone());
    // Held back, since errors do not matter if the clone has a plan.
    SmallVector<Diagnostic> problems;
    LogicalResult whole = failure();
    {
      ScopedDiagnosticHandler keep(
          module.getContext(),
          [&](Diagnostic &problem) { problems.push_back(std::move(problem)); });
      whole = toProgram(module, how, needs, run);
    }
    auto report = [&] {
      for (Diagnostic &problem : problems)
        module.getContext()->getDiagEngine().emit(std::move(problem));
      return whole;
    };
    auto graphs = module.getOps<pipeline::GraphOp>();
    if (graphs.empty() || pipeline::isForwardOnly(*graphs.begin()))
      return report();
    CompileOptions placed = how;
    placed.halves = true;
    placed.planner = "placed";
    Needs split = needs;
    split.split = true;
    LogicalResult found = failure();
    {
      Silence silence(module.getContext());
      found = toProgram(*apart, placed, split, [&](OpPassManager &manager) {
        return runAside(*apart,
                        [&](OpPassManager &own) { own = std::move(manager); });
      });
    }
    if (failed(found))
      return report();
    bool isBetter = savesEnough(promisedTime(*apart), promisedTime(module));
    if (succeeded(whole))
      lowerBound(isBetter ? *apart : module, isBetter ? module : *apart);
    if (!isBetter)
      return report();
    llvm::erase_if(problems, [](const Diagnostic &problem) {
      return problem.getSeverity() == DiagnosticSeverity::Error;
    });
    replaceBy(*apart, problems);
    return success();
  }

  /// Replaces the module by `planned` and emits its diagnostics `said`.
  void replaceBy(ModuleOp planned, MutableArrayRef<Diagnostic> said) {
    ModuleOp module = getOperation();
    replaced = true;
    module.getBodyRegion().takeBody(planned.getBodyRegion());
    module->setAttrs(planned->getAttrs());
    for (Diagnostic &diagnostic : said)
      module.getContext()->getDiagEngine().emit(std::move(diagnostic));
  }

  CompileOptions options;
  Level to;
  bool replaced = false; ///< By the plan of a clone.
  std::shared_ptr<const DeviceTarget> device;
};

} // namespace

std::unique_ptr<Pass>
createPlanStep(const CompileOptions &options, Level to,
               std::shared_ptr<const DeviceTarget> device) {
  return std::make_unique<PlanStep>(options, to, std::move(device));
}

} // namespace stagewright
