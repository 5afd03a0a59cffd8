//===- Compile.cpp - the pipeline from a step to an artifact --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Pipelines/Compile.h"
#include "ApplyAnnotations.h"
#include "CompileReport.h"
#include "PlanStep.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Conversion/PipelineToRank/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Dialect/Rank/Transforms/Passes.h"
#include "stagewright/Pipelines/Pipelines.h"
#include "stagewright/Target/DeviceTarget.h"

namespace stagewright {

/// Bytes of gradients per all-reduce on GPUs, as in DistributedDataParallel of
/// PyTorch: NCCL is slow with less (Li et al., "PyTorch Distributed", VLDB
/// 2020).
static constexpr int64_t kDeviceBucketBytes = 25 << 20;

static constexpr llvm::StringLiteral kEmbed = "embed-kernels";

namespace {
/// A pass made from a function: one that inspects the module, or a step of the
/// target.
class ModuleStep : public PassWrapper<ModuleStep, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ModuleStep)

  ModuleStep(StringRef name, StringRef description,
             std::function<LogicalResult(ModuleOp)> step)
      : name(name), description(description), step(std::move(step)) {}

  StringRef getArgument() const final { return name; }
  StringRef getName() const final { return name; }
  StringRef getDescription() const final { return description; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<rank::RankDialect>();
    // Only embedding creates operations. The other steps do not load the LLVM
    // dialect, which is slow to load.
    if (name == kEmbed)
      registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() final {
    if (failed(step(getOperation())))
      signalPassFailure();
    if (name != kEmbed) // The others only write attributes.
      markAllAnalysesPreserved();
  }

private:
  StringRef name, description; // Both are string literals.
  std::function<LogicalResult(ModuleOp)> step;
};
} // namespace

/// Reports ranks whose arena exceeds the memory of their device. The planner
/// counts what is live between actions; temporaries are known only now.
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

/// Reports ranks on a GPU that run actions as they become ready.
static LogicalResult checkOrder(ModuleOp module) {
  for (auto program : module.getOps<rank::ProgramOp>())
    if (program.isReadyFirst())
      return emitError(program.getLoc())
             << "rank " << program.getRank() << " runs actions as they become "
             << "ready, which a GPU cannot: the host enqueues a step, or "
             << "replays its CUDA graph, before it is known what is ready; use "
             << "--execution=ordered, or leave out the target";
  return success();
}

/// Reports averages of parameters for which the runtime has no kernel.
static LogicalResult checkAverages(ModuleOp module) {
  WalkResult walked = module.walk([](rank::AverageOp average) {
    auto sum = average.getSum().getDefiningOp<rank::BufferOp>();
    Type element = cast<MemRefType>(sum.getType()).getElementType();
    if (element.isF32())
      return WalkResult::advance();
    emitError(average.getLoc())
        << "replicas on GPUs average parameters of f32, not " << element
        << "; leave out the target, or --average-every, so that replicas sum "
        << "their gradients in every step";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// Adds the passes from a program to its schedule.
static void chooseSchedule(OpPassManager &manager,
                           const CompileOptions &options) {
  if (options.shards)
    manager.addPass(pipeline::createSendOnce());
  pipeline::ScheduleOptions how;
  bool isFile = StringRef(options.schedule).ends_with(".csv");
  if (!options.shards) // The plan of shards states its schedule.
    (isFile ? how.csv : how.kind) = options.schedule;
  if (!options.objective.empty())
    how.objective = options.objective;
  manager.addPass(pipeline::createSchedule(how));
}

/// Adds the passes that schedule a program, unless it is `scheduled`, and those
/// that add credits, rates of flows and averages to the schedule.
static void buildSchedule(OpPassManager &manager, const CompileOptions &options,
                          bool scheduled) {
  if (!scheduled)
    chooseSchedule(manager, options);
  pipeline::AssignCreditsOptions credits;
  credits.spare = options.spareCredits.value_or(0);
  if (options.execution == Execution::Ready)
    manager.addPass(pipeline::createAssignCredits(credits));
  if (!options.policy.empty())
    manager.addPass(pipeline::createScheduleFlows({options.policy}));
  if (!options.averageEvery)
    return;
  pipeline::DelayAveragingOptions averaging;
  averaging.every = *options.averageEvery;
  if (!options.averageDelay.empty())
    averaging.delay = options.averageDelay;
  averaging.xi = options.averageXi.value_or(averaging.xi);
  if (!options.averageMerge.empty())
    averaging.merge = options.averageMerge;
  manager.addPass(pipeline::createDelayAveraging(averaging));
}

/// Adds the passes from a schedule to rank programs. These are verified for the
/// given number of microbatches and for each number at which their loops change
/// form, since an artifact runs with any number, unless its order is for one.
static void buildRank(OpPassManager &manager, const CompileOptions &options,
                      bool onDevice) {
  LowerPipelineToRankOptions lower;
  if (onDevice)
    lower.bucketBytes = kDeviceBucketBytes;
  lower.bucketBytes = options.bucketBytes.value_or(lower.bucketBytes);
  lower.gathers = options.shardCollectives;
  manager.addPass(createLowerPipelineToRank(lower));
  if (onDevice) {
    manager.addPass(std::make_unique<ModuleStep>(
        "check-order", "refuse ranks that choose what they run", checkOrder));
    manager.addPass(std::make_unique<ModuleStep>(
        "check-averages", "refuse averages without a kernel", checkAverages));
    manager.addPass(device::createDeviceCastParameters());
  }
  if (options.shards)
    manager.addPass(rank::createShareRings());
  rank::VerifyRankProgramsOptions verify;
  verify.forms = true;
  manager.addPass(rank::createVerifyRankPrograms(verify));
}

void buildRanks(OpPassManager &manager, const CompileOptions &options,
                const DeviceTarget *device) {
  manager.addPass(pipeline::createApplyRecompute());
  buildSchedule(manager, options, /*scheduled=*/false);
  buildRank(manager, options, device != nullptr);
  buildBodies(manager, options, device);
}

/// Adds the passes from rank programs to the form that `to` asks for.
static void buildTarget(OpPassManager &manager, const CompileOptions &options,
                        Level to, std::shared_ptr<DeviceTarget> device,
                        CompileReport *report) {
  if (to >= Level::Host)
    buildBodies(manager, options, device.get());
  manager.addPass(std::make_unique<ModuleStep>(
      "describe-memory", "report the memory of every rank in bytes",
      [report](ModuleOp module) {
        describeMemory(module, report);
        return success();
      }));
  if (to >= Level::Host)
    manager.addPass(std::make_unique<ModuleStep>(
        "check-memory", "refuse ranks that do not fit their devices",
        checkMemory));
  if (device && to >= Level::Kernels)
    buildDeviceCallPipeline(manager, options.float32);
  if (to < Level::LLVM)
    return;
  if (!device)
    return buildLLVMPipeline(manager);
  manager.addPass(std::make_unique<ModuleStep>(
      kEmbed, "compile kernels and put them where the runtime looks",
      [device](ModuleOp module) { return device->embed(module); }));
  buildDeviceLLVMPipeline(manager);
}

FailureOr<std::shared_ptr<DeviceTarget>>
createTarget(const CompileOptions &options, std::string &problem) {
  if (options.target == "host")
    return std::shared_ptr<DeviceTarget>();
  auto created =
      createDeviceTarget(options.target, options.cacheFolder, options.ptx);
  if (created)
    return std::shared_ptr<DeviceTarget>(std::move(*created));
  problem = llvm::toString(created.takeError());
  return failure();
}

void buildCompilePipeline(OpPassManager &manager, const CompileOptions &asked,
                          Level to, From from,
                          std::shared_ptr<DeviceTarget> device,
                          CompileReport *report) {
  CompileOptions options = asked;
  if (options.shards == 1 && options.stageShards.empty())
    options.shards = std::nullopt; // The layers are whole.
  if (from != From::Rank) {
    manager.addPass(createPlanStep(options, to, device));
    if (to >= Level::Program)
      manager.addPass(pipeline::createApplyRecompute());
    if (to >= Level::Schedule)
      buildSchedule(manager, options, from == From::Schedule);
    manager.addPass(std::make_unique<ModuleStep>(
        "describe-plan", "report the plan, the schedule and what is kept",
        [report](ModuleOp module) {
          describePlan(module, report);
          describeStash(module, report);
          return success();
        }));
    if (to <= Level::Schedule)
      return;
    buildRank(manager, options, bool(device));
  }
  buildTarget(manager, options, to, std::move(device), report);
}

LogicalResult compileTo(Level to, ModuleOp module, const CompileOptions &asked,
                        TimingScope &timing, CompileReport *report,
                        function_ref<LogicalResult(PassManager &)> configure) {
  From from = has<rank::ProgramOp>(module)        ? From::Rank
              : has<pipeline::ScheduleOp>(module) ? From::Schedule
                                                  : From::Step;
  CompileOptions options = asked;
  if (from == From::Step && failed(applyAnnotations(module, options)))
    return failure();
  std::string problem;
  auto device = createTarget(options, problem);
  if (failed(device))
    return module.emitError() << problem;
  PassManager manager(module.getContext());
  manager.enableTiming(timing);
  if (configure && failed(configure(manager)))
    return failure();
  buildCompilePipeline(manager, options, to, from, *device, report);
  return manager.run(module);
}

} // namespace stagewright
