//===- Compile.cpp - the whole road ------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Pipelines/Compile.h"
#include "MeasureWorkspaces.h"
#include "PassText.h"
#include "Report.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ScheduleData.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Pipelines/Pipelines.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Scheduling/Segments.h"
#include "stagewright/Target/DeviceTarget.h"
#include <limits>
#include <utility>

using namespace mlir;

namespace stagewright {

static std::string text(std::optional<int64_t> number) {
  return number ? std::to_string(*number) : "";
}

/// As one value of an option of a pass.
static std::string quoted(StringRef text) {
  if (text.contains('"')) // The JSON of a plan.
    return ("{" + text + "}").str();
  return text.empty() ? "" : ("\"" + text + "\"").str();
}

template <typename Op> static bool has(ModuleOp module) {
  return !module.getOps<Op>().empty();
}

namespace {
/// What a schedule needs of the levels before it, and how passes call it.
struct Needs {
  bool split = false; ///< The halves of backwards apart.
  std::string stages, chunks, microbatches, placement;
  std::string plannedFor = "auto"; ///< As pipeline-partition says it.
  std::string kind, csv;           ///< As pipeline-schedule does.
};
} // namespace

static FailureOr<Needs> needsOf(ModuleOp module,
                                const CompileOptions &options) {
  Needs needs;
  if (StringRef(options.schedule).ends_with(".csv")) {
    FailureOr<Schedule> schedule =
        pipeline::readScheduleFile(module.getLoc(), options.schedule);
    if (failed(schedule))
      return failure();
    auto where = pipeline::placementOf(module.getLoc(), *schedule);
    if (failed(where))
      return failure();
    needs = {pipeline::splitsBackward(*schedule),
             std::to_string(schedule->stages),
             std::to_string(where->chunks),
             std::to_string(schedule->microbatches),
             toString(where->placement),
             "auto",
             "",
             options.schedule};
  } else {
    needs.kind = options.schedule;
    needs.split = options.halves || options.schedule == "auto" ||
                  splitsBackward(options.plan);
  }
  if (Result<Generator> generator = findGenerator(options.schedule)) {
    needs.split = generator->splitsBackward;
    needs.plannedFor = options.schedule;
  } else if (options.schedule == "auto") {
    needs.chunks = "1"; // The search is for the orders of one plan.
  }
  auto given = [](std::string &need, const std::string &option) {
    if (!option.empty())
      need = option;
  };
  given(needs.stages, text(options.stages));
  given(needs.chunks, text(options.chunks));
  given(needs.microbatches, text(options.microbatches));
  given(needs.placement, options.placement);
  return needs;
}

/// What forwards keep if nobody says: on a device what is fastest, unless it is
/// to repeat contractions.
static std::string stashOf(const CompileOptions &options) {
  if (!options.stash.empty())
    return quoted(options.stash);
  return options.target == "host" || options.repeatRatio ? "least" : "written";
}

/// What the target runs on bodies, up to their workspaces.
static void buildBodies(OpPassManager &manager, const DeviceTarget *device) {
  HostPipelineOptions how;
  how.bytes = device && device->multipliesBytes();
  device ? buildDeviceBodyPipeline(manager, how)
         : buildBodyPipeline(manager, how);
}

/// What PyTorch's DistributedDataParallel sums at once on GPUs: NCCL is slow
/// with less (Li et al., "PyTorch Distributed", VLDB 2020).
static constexpr int64_t kDeviceBucketBytes = 25 << 20;

/// From an imported step, or from any level in between, to the program. One
/// body for the whole backward does less work, so I and W stay apart only for a
/// schedule that runs them apart.
static LogicalResult toProgram(Level level, ModuleOp module,
                               const CompileOptions &options,
                               const Needs &needs, const DeviceTarget *device,
                               TimingScope &timing) {
  SmallVector<std::string> passes;
  if (!has<pipeline::GraphOp>(module)) {
    llvm::append_values(passes, passText("pipeline-infer-roles"),
                        passText("pipeline-split-slices"));
    if (options.target != "host")
      passes.push_back(passText("pipeline-raise-attention",
                                {{"score-bytes", text(options.scoreBytes)}}));
    passes.push_back(passText("pipeline-form-graph",
                              {{"layers", quoted(options.layers)},
                               {"cluster", options.cluster},
                               {"repeat-ratio", text(options.repeatRatio)},
                               {"stash", stashOf(options)}}));
    if (!needs.split)
      passes.push_back(passText("pipeline-merge-backward"));
    passes.push_back(passText("pipeline-unify-bodies"));
  }
  passes.push_back(
      passText("pipeline-estimate-cost",
               {{"cluster", options.cluster}, {"profile", options.profile}}));
  if (failed(runText(module, timing, passes)) ||
      failed(measureWorkspaces(
          module, options, needs.microbatches, timing,
          [&](OpPassManager &manager) { buildBodies(manager, device); })))
    return failure();
  if (level < Level::Program)
    return success();
  return runText(module, timing,
                 {passText("pipeline-partition",
                           {{"cluster", options.cluster},
                            {"stages", needs.stages},
                            {"microbatches", needs.microbatches},
                            {"memory", options.memory},
                            {"planner", options.planner},
                            {"max-replicas", text(options.maxReplicas)},
                            {"recompute-level", text(options.recomputeLevel)},
                            {"offload", options.offload},
                            {"plan", quoted(options.plan)},
                            {"chunks", needs.chunks},
                            {"placement", needs.placement},
                            {"schedule", needs.plannedFor}})});
}

/// Whether schedules may be chosen among that run the halves of backwards
/// apart.
static bool choosesHalves(const CompileOptions &options) {
  return !options.halves && options.schedule == "plan" &&
         options.plan.empty() && !options.stages && !options.chunks &&
         options.placement.empty() &&
         (options.planner.empty() || options.planner == "auto" ||
          options.planner == "placed");
}

/// The program of `module` that has a plan, or null.
static pipeline::ProgramOp plannedIn(ModuleOp module) {
  for (auto program : module.getOps<pipeline::ProgramOp>())
    if (program.getPlanAttr())
      return program;
  return {};
}

/// Seconds of a step that the plan of `module` promises.
static Seconds promisedTime(ModuleOp module) {
  pipeline::ProgramOp program = plannedIn(module);
  return Seconds(program ? program.getPlanAttr().getTime().getValueAsDouble()
                         : std::numeric_limits<double>::infinity());
}

/// Lets `module` promise no higher bound of all plans than `other` does.
static void lowerBound(ModuleOp module, ModuleOp other) {
  pipeline::ProgramOp program = plannedIn(module), its = plannedIn(other);
  if (!program || !its)
    return;
  pipeline::PlanAttr own = program.getPlanAttr();
  FloatAttr bound = its.getPlanAttr().getBound();
  if (bound.getValueAsDouble() < own.getBound().getValueAsDouble())
    program.setPlanAttr(pipeline::PlanAttr::get(
        own.getContext(), own.getTime(), bound, own.getPlanner(),
        own.getPlanBound(), own.getSchedule()));
}

/// Plans `module` with backwards in one and, on the side, with their halves
/// apart, and keeps the better one.
static LogicalResult toBestProgram(ModuleOp module,
                                   const CompileOptions &options,
                                   const Needs &needs,
                                   const DeviceTarget *device,
                                   TimingScope &timing) {
  OwningOpRef<ModuleOp> apart(module.clone());
  // What goes wrong is said once it is known that neither has a plan.
  SmallVector<Diagnostic> problems;
  LogicalResult whole = failure();
  {
    ScopedDiagnosticHandler keep(module.getContext(), [&](Diagnostic &problem) {
      problems.push_back(std::move(problem));
    });
    whole = toProgram(Level::Program, module, options, needs, device, timing);
  }
  auto report = [&] {
    for (Diagnostic &problem : problems)
      module.getContext()->getDiagEngine().emit(std::move(problem));
    return whole;
  };
  auto graphs = module.getOps<pipeline::GraphOp>();
  if (graphs.empty() || pipeline::isForwardOnly(*graphs.begin()))
    return report();
  CompileOptions placed = options;
  placed.halves = true;
  placed.planner = "placed";
  Needs split = needs;
  split.split = true;
  LogicalResult found = failure();
  {
    ScopedDiagnosticHandler ignore(module.getContext(),
                                   [](Diagnostic &) { return success(); });
    found = toProgram(Level::Program, *apart, placed, split, device, timing);
  }
  if (failed(found))
    return report();
  bool isBetter = savesEnough(promisedTime(*apart), promisedTime(module));
  if (succeeded(whole))
    lowerBound(isBetter ? *apart : module, isBetter ? module : *apart);
  if (!isBetter)
    return report();
  module.getBodyRegion().takeBody(apart->getBodyRegion());
  module->setAttrs((*apart)->getAttrs());
  for (Diagnostic &problem : problems)
    if (problem.getSeverity() != DiagnosticSeverity::Error)
      module.getContext()->getDiagEngine().emit(std::move(problem));
  return success();
}

/// To the schedule, from any level before it.
static LogicalResult toSchedule(Level level, ModuleOp module,
                                const CompileOptions &options,
                                const DeviceTarget *device,
                                TimingScope &timing) {
  FailureOr<Needs> needs = needsOf(module, options);
  if (failed(needs))
    return failure();
  if (!has<pipeline::ProgramOp>(module)) {
    bool chooses = level >= Level::Program && choosesHalves(options) &&
                   !has<pipeline::GraphOp>(module);
    if (failed(chooses
                   ? toBestProgram(module, options, *needs, device, timing)
                   : toProgram(level, module, options, *needs, device, timing)))
      return failure();
  }
  SmallVector<std::string> passes;
  if (level >= Level::Program)
    passes.push_back(passText("pipeline-apply-recompute"));
  if (!has<pipeline::ScheduleOp>(module) && level >= Level::Schedule)
    passes.push_back(
        passText("pipeline-schedule", {{"kind", needs->kind},
                                       {"csv", needs->csv},
                                       {"objective", options.objective}}));
  return runText(module, timing, passes);
}

/// The artifact runs for any number of microbatches, unless its schedule is an
/// order for one number only. Proved are the number it
/// is compiled for and those at which its loops take another form.
static std::vector<std::string> proofs(ModuleOp module) {
  int64_t ranks = llvm::range_size(module.getOps<rank::ProgramOp>());
  std::vector<std::string> passes;
  for (auto program : module.getOps<rank::ProgramOp>())
    if (program.getOnly())
      return {"verify-rank-programs"};
  for (int64_t m : formsOfLoops(ranks))
    passes.push_back("verify-rank-programs{microbatches=" + std::to_string(m) +
                     "}");
  passes.push_back("verify-rank-programs");
  return passes;
}

/// The planner counts what lives from action to action; the temporaries of the
/// bodies are known only now. A rank that does not fit is an error here.
static LogicalResult checkMemory(ModuleOp module) {
  llvm::StringMap<Bytes> limits;
  for (auto cluster : module.getOps<pipeline::ClusterOp>())
    for (const Device &device : pipeline::readCluster(cluster).devices)
      limits[device.name] = device.memory;
  for (auto program : module.getOps<rank::ProgramOp>()) {
    auto limit = limits.find(program.getDevice());
    auto arena = program.getMemoryAttr()
                     ? program.getMemoryAttr().getAs<IntegerAttr>("arena")
                     : IntegerAttr();
    if (limit == limits.end() || !arena ||
        Bytes(arena.getInt()) <= limit->second)
      continue;
    return emitError(program.getLoc())
           << "rank " << program.getRank() << " needs "
           << toString(Bytes(arena.getInt())) << " on device "
           << program.getDevice() << ", has " << toString(limit->second)
           << "; use more stages, fewer microbatches or a device with "
           << toString(Bytes(arena.getInt()) - limit->second) << " more";
  }
  return success();
}

LogicalResult compileTo(Level level, ModuleOp module,
                        const CompileOptions &options, TimingScope &timing,
                        CompileReport *report) {
  std::unique_ptr<DeviceTarget> device;
  if (options.target != "host") {
    auto created =
        createDeviceTarget(options.target, options.cacheFolder, options.ptx);
    if (!created)
      return module.emitError() << llvm::toString(created.takeError());
    device = std::move(*created);
  }
  if (!has<rank::ProgramOp>(module)) {
    if (failed(toSchedule(level, module, options, device.get(), timing)))
      return failure();
    describePlan(module, report);
    describeStash(module, report);
    if (level <= Level::Schedule)
      return success();
    auto bucketBytes = options.bucketBytes;
    if (!bucketBytes && device)
      bucketBytes = kDeviceBucketBytes;
    SmallVector<std::string> passes = {passText(
        "lower-pipeline-to-rank", {{"bucket-bytes", text(bucketBytes)}})};
    if (device)
      passes.push_back("device-cast-parameters");
    if (failed(runText(module, timing, passes)) ||
        failed(runText(module, timing, proofs(module))))
      return failure();
  }
  if (level >= Level::Host &&
      failed(runPasses(module, timing, [&](OpPassManager &manager) {
        buildBodies(manager, device.get());
        return success();
      })))
    return failure();
  describeMemory(module, report);
  if (level >= Level::Host && failed(checkMemory(module)))
    return failure();
  if (device && level >= Level::Kernels &&
      failed(runPasses(module, timing, [&](OpPassManager &manager) {
        buildDeviceCallPipeline(manager, options.tf32);
        return success();
      })))
    return failure();
  if (level < Level::LLVM)
    return success();
  if (device && failed(device->embed(module, timing)))
    return failure();
  return runPasses(module, timing, [&](OpPassManager &manager) {
    device ? buildDeviceLLVMPipeline(manager) : buildLLVMPipeline(manager);
    return success();
  });
}

} // namespace stagewright
