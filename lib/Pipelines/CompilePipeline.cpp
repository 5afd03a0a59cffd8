//===- CompilePipeline.cpp - the whole pipeline as one flag ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "stagewright/Pipelines/Compile.h"
#include "stagewright/Pipelines/Pipelines.h"
#include "stagewright/Target/DeviceTarget.h"

using namespace mlir;

namespace stagewright {

static constexpr const char *kName = "stagewright-pipeline";

namespace {
/// CompileOptions as text options of a pipeline. Numbers that are not given are
/// -1; texts are empty or have their default.
struct TypedOptions : PassPipelineOptions<TypedOptions> {
  using Text = Option<std::string>;
  using Number = Option<int64_t>;

  Option<Level> to{
      *this, "to", llvm::cl::desc("Level at which to stop"),
      llvm::cl::init(Level::Rank),
      llvm::cl::values(
          clEnumValN(Level::Layers, "layers",
                     "layers, with backwards in two parts"),
          clEnumValN(Level::Graph, "graph", "layers and costs"),
          clEnumValN(Level::Program, "program", "stages on devices"),
          clEnumValN(Level::Schedule, "schedule",
                     "order of actions on every rank"),
          clEnumValN(Level::Rank, "rank", "rank programs"),
          clEnumValN(Level::Host, "host", "kernels and calls"),
          clEnumValN(Level::Kernels, "kernels",
                     "GPU kernels and the calls that launch them"),
          clEnumValN(Level::LLVM, "llvm", "the LLVM dialect"))};
  Option<From> from{
      *this, "from", llvm::cl::desc("Level of the input"),
      llvm::cl::init(From::Step),
      llvm::cl::values(
          clEnumValN(From::Step, "step", "@step, a graph or a program"),
          clEnumValN(From::Schedule, "schedule", "a schedule"),
          clEnumValN(From::Rank, "rank", "rank programs"))};
  Text cluster{*this, "cluster", llvm::cl::desc("Preset or cluster file")};
  Number stages{*this, "stages", llvm::cl::desc("Number of stages"),
                llvm::cl::init(-1)};
  Number microbatches{*this, "microbatches",
                      llvm::cl::desc("Microbatches per step"),
                      llvm::cl::init(-1)};
  Number chunks{*this, "chunks", llvm::cl::desc("Stages per device"),
                llvm::cl::init(-1)};
  Text placement{*this, "placement", llvm::cl::desc("linear, loop, v or twin")};
  Text memory{*this, "memory", llvm::cl::desc("Memory limit per device")};
  Text planner{*this, "planner", llvm::cl::desc("Name of a planner")};
  Number maxReplicas{*this, "max-replicas",
                     llvm::cl::desc("Max devices per stage; 0: no limit"),
                     llvm::cl::init(-1)};
  Number recomputeLevel{*this, "recompute-level",
                        llvm::cl::desc("How much layers recompute"),
                        llvm::cl::init(-1)};
  Text offload{*this, "offload", llvm::cl::desc("auto, none or all")};
  Number shards{*this, "shards",
                llvm::cl::desc("Shards per layer; 0: the fastest number"),
                llvm::cl::init(-1)};
  Text shardHints{*this, "shard",
                  llvm::cl::desc("How to split parameters, as */fc=1")};
  Number dataParallel{*this, "data-parallel",
                      llvm::cl::desc("Copies of all shards"),
                      llvm::cl::init(-1)};
  Option<bool> sequenceParallel{
      *this, "sequence-parallel",
      llvm::cl::desc("Shards keep only their rows of large sums"),
      llvm::cl::init(true)};
  Text annotate{*this, "annotate",
                llvm::cl::desc("File of lines GLOB=replicate(N) or split(N)")};
  Text plan{*this, "plan", llvm::cl::desc("Stages, as \"[0,3)x2 [3,6)x1\"")};
  Text schedule{*this, "schedule",
                llvm::cl::desc("A schedule's name, plan, auto or FILE.csv"),
                llvm::cl::init("plan")};
  Text objective{*this, "objective", llvm::cl::desc("makespan or span")};
  Option<Execution> execution{
      *this, "execution", llvm::cl::desc("How a rank runs its actions"),
      llvm::cl::init(Execution::Ordered),
      llvm::cl::values(
          clEnumValN(Execution::Ordered, "ordered", "as scheduled"),
          clEnumValN(Execution::Ready, "ready", "as they become ready"))};
  Number spareCredits{*this, "spare-credits",
                      llvm::cl::desc("More microbatches in flight per stage"),
                      llvm::cl::init(-1)};
  Text layers{*this, "layers",
              llvm::cl::desc("auto, flow, a depth or a pattern")};
  Text profile{*this, "profile", llvm::cl::desc("File of measured costs")};
  Number repeatRatio{
      *this, "repeat-ratio",
      llvm::cl::desc(
          "Min ratio of result to operands to recompute contractions"),
      llvm::cl::init(-1)};
  Text stash{*this, "stash", llvm::cl::desc("least or written")};
  Text target{*this, "target", llvm::cl::desc("host or cuda:sm_90a"),
              llvm::cl::init("host")};
  Text ptx{*this, "ptx", llvm::cl::desc("Architectures with PTX, none or all")};
  Option<Float32Products> tf32{
      *this, "tf32", llvm::cl::desc("Multiply float32 as TF32, by the library"),
      llvm::cl::init(Float32Products::Exact),
      llvm::cl::values(
          clEnumValN(Float32Products::Exact, "0", "no"),
          clEnumValN(Float32Products::Tf32, "1x", "operands rounded"),
          clEnumValN(Float32Products::Tf32x3, "3x", "three products"))};
  Number scoreBytes{
      *this, "score-bytes",
      llvm::cl::desc("Max bytes of attention scores stored as an array"),
      llvm::cl::init(-1)};
  Number bucketBytes{*this, "bucket-bytes",
                     llvm::cl::desc("Bytes per bucket of summed gradients"),
                     llvm::cl::init(-1)};

  Number averageEvery{*this, "average-every",
                      llvm::cl::desc("Steps between averages over replicas"),
                      llvm::cl::init(-1)};
  Text averageDelay{
      *this, "average-delay",
      llvm::cl::desc("Steps until an average is merged, or auto")};
  Option<double> averageXi{*this, "average-xi",
                           llvm::cl::desc("Share that a replica keeps"),
                           llvm::cl::init(0.25)};
  Text averageMerge{*this, "average-merge",
                    llvm::cl::desc("convex or corrected")};

  CompileOptions values() const {
    auto number = [](const Number &option) {
      return option == -1 ? std::nullopt : std::optional<int64_t>(option);
    };
    CompileOptions values;
    values.cluster = cluster;
    values.stages = number(stages);
    values.microbatches = number(microbatches);
    values.chunks = number(chunks);
    values.placement = placement;
    values.memory = memory;
    values.planner = planner;
    values.maxReplicas = number(maxReplicas);
    values.recomputeLevel = number(recomputeLevel);
    values.offload = offload;
    values.shards = number(shards);
    values.shardHints = shardHints;
    values.dataParallel = number(dataParallel);
    values.sequenceParallel = sequenceParallel;
    values.annotate = annotate;
    values.plan = plan;
    values.schedule = schedule;
    values.objective = objective;
    values.execution = execution;
    values.spareCredits = number(spareCredits);
    values.layers = layers;
    values.profile = profile;
    values.repeatRatio = number(repeatRatio);
    values.stash = stash;
    values.target = target;
    values.ptx = ptx;
    values.float32 = tf32;
    values.scoreBytes = number(scoreBytes);
    values.bucketBytes = number(bucketBytes);
    values.averageEvery = number(averageEvery);
    values.averageDelay = averageDelay;
    values.averageXi = averageXi;
    values.averageMerge = averageMerge;
    return values;
  }
};
} // namespace

void registerCompilePipeline() {
  registerPassPipeline(
      kName, "a training step to rank programs, or to the level given by to=",
      [](OpPassManager &manager, StringRef text,
         llvm::function_ref<LogicalResult(const Twine &)> fail) {
        TypedOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        CompileOptions values = options.values();
        std::string problem;
        auto device = createTarget(values, problem);
        if (failed(device))
          return fail(problem);
        buildCompilePipeline(manager, values, options.to, options.from,
                             *device);
        return success();
      },
      [](llvm::function_ref<void(const detail::PassOptions &)> show) {
        show(TypedOptions());
      });
}

} // namespace stagewright
