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
#include <functional>

namespace stagewright {

static constexpr const char *kName = "stagewright-pipeline";

namespace {
/// CompileOptions as text options of a pipeline: all but `to` and `from` set
/// one member. Integers that are not given are -1.
class TypedOptions : public PassPipelineOptions<TypedOptions> {
public:
  TypedOptions();

  Option<Level> to{
      *this, "to", llvm::cl::desc("Level at which to stop"),
      llvm::cl::init(Level::Rank),
      llvm::cl::values(
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

  CompileOptions values() const {
    CompileOptions values;
    for (const auto &assign : assignments)
      assign(values);
    return values;
  }

private:
  template <typename T, typename Member, typename... Modifiers>
  void add(Member CompileOptions::*member, StringRef name, StringRef text,
           const T &initial, const Modifiers &...modifiers) {
    auto option =
        std::make_shared<Option<T>>(*this, name, llvm::cl::desc(text),
                                    llvm::cl::init(initial), modifiers...);
    assignments.push_back(
        [=](CompileOptions &values) { values.*member = option->getValue(); });
  }
  void add(std::string CompileOptions::*member, StringRef name,
           StringRef text) {
    add(member, name, text, CompileOptions().*member);
  }
  void add(std::optional<int64_t> CompileOptions::*member, StringRef name,
           StringRef text) {
    auto option = std::make_shared<Option<int64_t>>(
        *this, name, llvm::cl::desc(text), llvm::cl::init(-1));
    assignments.push_back([=](CompileOptions &values) {
      if (*option != -1)
        values.*member = *option;
    });
  }

  std::vector<std::function<void(CompileOptions &)>> assignments;
};

TypedOptions::TypedOptions() {
  using To = CompileOptions;
  add(&To::cluster, "cluster", "Preset or cluster file");
  add(&To::stages, "stages", "Number of stages");
  add(&To::microbatches, "microbatches", "Microbatches per step");
  add(&To::chunks, "chunks", "Stages per device");
  add(&To::placement, "placement", "linear, loop, v or twin");
  add(&To::memory, "memory", "Memory limit per device");
  add(&To::planner, "planner", "Name of a planner");
  add(&To::maxReplicas, "max-replicas", "Max devices per stage; 0: no limit");
  add(&To::recomputeLevel, "recompute-level", "How much layers recompute");
  add(&To::offload, "offload", "auto, none or all");
  add(&To::shards, "shards", "Shards per layer; 0: the fastest number");
  add(&To::shardGrid, "shard-grid", "Shards along two axes, such as 2x2");
  add(&To::stageShards, "stage-shards",
      "Shards of each stage, such as 4,2; `shards` is their max");
  add(&To::stageDevices, "stage-devices",
      "Devices of the stages of stage-shards, such as 0-2;1,3");
  add(&To::shardHints, "shard", "How to split parameters, such as */fc=1");
  add(&To::dataParallel, "data-parallel", "Copies of all shards");
  add(&To::sequenceParallel, "sequence-parallel",
      "Shards keep only their rows of large sums", true);
  add(&To::shardCollectives, "shard-collectives",
      "Shards join values by gathers", false);
  add(&To::recomputeLayers, "recompute-layers",
      "Layers over shards keep only their inputs; for to=program or later",
      false);
  add(&To::annotate, "annotate", "File of lines GLOB=replicate(N) or split(N)");
  add(&To::plan, "plan", "Stages, such as \"[0,3)x2 [3,6)x1\"");
  add(&To::schedule, "schedule", "A schedule's name, plan, auto or FILE.csv");
  add(&To::objective, "objective", "makespan or span");
  add(&To::execution, "execution", "How a rank runs its actions",
      Execution::Ordered,
      llvm::cl::values(
          clEnumValN(Execution::Ordered, "ordered", "as scheduled"),
          clEnumValN(Execution::Ready, "ready", "as they become ready")));
  add(&To::spareCredits, "spare-credits",
      "More microbatches in flight per stage");
  add(&To::policy, "policy", "Rates of flows: oes, guaranteed, fair or fifo");
  add(&To::layers, "layers", "auto, flow, a depth or a pattern");
  add(&To::profile, "profile", "File of measured costs");
  add(&To::repeatRatio, "repeat-ratio",
      "Min ratio of result to operands to recompute contractions");
  add(&To::stash, "stash", "least or written");
  add(&To::target, "target", "host or cuda:sm_90a");
  add(&To::ptx, "ptx", "Architectures with PTX, none or all");
  add(&To::float32, "tf32", "Multiply float32 as TF32, by the library",
      Float32Products::Exact,
      llvm::cl::values(
          clEnumValN(Float32Products::Exact, "0", "no"),
          clEnumValN(Float32Products::Tf32, "1x", "operands rounded"),
          clEnumValN(Float32Products::Tf32x3, "3x", "three products")));
  add(&To::scoreBytes, "score-bytes",
      "Max bytes of attention scores stored as an array");
  add(&To::bucketBytes, "bucket-bytes", "Bytes per bucket of summed gradients");
  add(&To::averageEvery, "average-every",
      "Steps between averages over replicas");
  add(&To::averageDelay, "average-delay",
      "Steps until an average is merged, or auto");
  add(&To::averageXi, "average-xi", "Share that a replica keeps", 0.25);
  add(&To::averageMerge, "average-merge", "convex or corrected");
}
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
