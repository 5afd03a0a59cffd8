//===- Options.cpp - the command line of pp-compile -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Support/Files.h"
#include "stagewright/Support/Text.h"
#include "stagewright/Support/Units.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace stagewright;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("pp-compile options");

cl::opt<std::string> input(cl::Positional, cl::desc("model.mlir"),
                           cl::init("-"), cl::cat(category));
cl::opt<std::string> output("o", cl::desc("File to write"),
                            cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> cluster("cluster",
                             cl::desc("Devices: local:N, another preset, or a "
                                      "cluster file; with ,peak behind it "
                                      "contractions of every size reach their "
                                      "rate"),
                             cl::cat(category));
cl::opt<std::string> stages("stages", cl::desc("Number of stages"),
                            cl::cat(category));
cl::opt<std::string> microbatches("microbatches",
                                  cl::desc("Microbatches of a step"),
                                  cl::cat(category));
cl::opt<std::string> memory("memory", cl::desc("Memory limit of a device"),
                            cl::cat(category));
cl::opt<std::string>
    planner("planner",
            cl::desc("Planner, spp by default; pp-plan --list-planners"),
            cl::cat(category));
cl::opt<std::string>
    maxReplicas("max-replicas",
                cl::desc("Most devices of one stage, which then work on slices "
                         "of every microbatch or take them in turn; 0, the "
                         "default: no limit"),
                cl::cat(category));
cl::opt<std::string> plan(
    "plan",
    cl::desc("Stages with their replicas instead of a planner's: ranges of "
             "layers, as \"[0,3)x2:3+1 [3,6)x1\"; behind the colon the "
             "samples of each replica, by its speed unless given; or a file "
             "FILE.json that pp-plan --json wrote"),
    cl::cat(category));
cl::opt<std::string> shards(
    "tensor-parallel",
    cl::desc("Devices that share every layer, each with its part of the "
             "parameters; which are split is what saves the most time, unless "
             "--shard or the model's own file says it. auto: as many as make a "
             "step fastest, with --stages and --data-parallel to match unless "
             "given"),
    cl::value_desc("ways|auto"), cl::cat(category));
cl::opt<std::string> shardHints(
    "shard",
    cl::desc("Which parameters are split and how: GLOB=DIM, with commas "
             "between, or GLOB=DIM:CHUNKS where a dimension holds several "
             "arrays side by side, as '*/qkv=1:3,*/o=0,*/fc=1,*/proj=0', "
             "GLOB=whole, or GLOB=auto for what saves the most time; the first "
             "that fits a name counts, before what the model's own file says; "
             "all are auto where neither says anything"),
    cl::value_desc("glob=dim,..."), cl::cat(category));
cl::opt<std::string> dataParallel(
    "data-parallel",
    cl::desc("Copies of all shards and stages of --tensor-parallel, each on "
             "devices of its own, which take microbatches in turn; 1 unless "
             "given. Without shards see --max-replicas and --plan"),
    cl::value_desc("copies"), cl::cat(category));
cl::opt<bool> sequenceParallel(
    "sequence-parallel",
    cl::desc("Whether each shard of --tensor-parallel goes on with its rows of "
             "what the shards add up, until a layer needs all of them: norms "
             "and the like are shared, too; true unless given"),
    cl::init(true), cl::cat(category));
cl::opt<std::string>
    schedule("schedule",
             cl::desc("Schedule, such as gpipe, 1f1b or zb-h1; plan, the "
                      "default: the one that the planner finds fastest; auto: "
                      "the fastest order that a search finds for the plan; or "
                      "a file FILE.csv as PyTorch writes it"),
             cl::init("plan"), cl::cat(category));
cl::opt<std::string>
    objective("objective",
              cl::desc("What --schedule=auto minimises: makespan, the default, "
                       "or span"),
              cl::cat(category));
cl::opt<std::string> chunks("chunks",
                            cl::desc("Stages of each device; what the schedule "
                                     "needs unless given"),
                            cl::cat(category));
cl::opt<std::string>
    placement("placement",
              cl::desc("Which device holds which stages: linear, loop, v or "
                       "twin; what the schedule needs unless given"),
              cl::cat(category));
cl::opt<std::string>
    layers("layers",
           cl::desc("Where layers come from: auto, the default: scopes or "
                    "modules of parameters, at the level at which the model "
                    "repeats; flow: the places where "
                    "little data is alive; a number of components of a scope; "
                    "or a pattern such as 'transformer/h/*'"),
           cl::value_desc("auto|flow|depth|pattern"), cl::cat(category));
cl::opt<std::string> profile("profile",
                             cl::desc("Costs measured by pp-run --profile"),
                             cl::cat(category));
cl::opt<std::string>
    deviceTarget("target",
                 cl::desc("Where stages run: host, the default, or cuda, or "
                          "cuda with architectures, as cuda:sm_80,sm_90a"),
                 cl::init("host"), cl::cat(category));
cl::opt<std::string>
    ptx("ptx",
        cl::desc("Which PTX an artifact for devices has beside machine code, "
                 "for newer devices and older drivers, which compile it when "
                 "they load it: that of the lowest architecture unless given; "
                 "none; all, of every architecture of --target; or others, as "
                 "sm_80,sm_90"),
        cl::value_desc("arch|none|all"), cl::cat(category));
cl::opt<bool>
    tf32("tf32",
         cl::desc("Let a device's library round the operands of float32 "
                  "contractions to TF32, of 10 bits"),
         cl::cat(category));
cl::opt<std::string>
    targetCpu("target-cpu",
              cl::desc("Processor to compile for: native, the default, or a "
                       "name of LLVM such as x86-64-v3 (AVX2) or x86-64-v4 "
                       "(AVX-512); several, parted by commas, lie in one "
                       "artifact, and the machine that runs it takes the "
                       "best"),
              cl::init("native"), cl::cat(category));
cl::opt<std::string>
    cacheDir("cache-dir",
             cl::desc("Folder that keeps native code between compiles; "
                      "$XDG_CACHE_HOME/stagewright unless given"),
             cl::value_desc("folder"), cl::cat(category));
cl::opt<bool> noCache("no-cache",
                      cl::desc("Neither read nor write a cache of native code"),
                      cl::cat(category));
cl::opt<std::string> cacheSize("cache-size",
                               cl::desc("Most bytes of the cache, such as "
                                        "200MiB; 1GiB unless given"),
                               cl::value_desc("bytes"), cl::cat(category));
cl::opt<bool> timing("timing", cl::desc("Print the time of every pass"),
                     cl::cat(category));
cl::opt<std::string>
    repeatRatio("repeat-ratio",
                cl::desc("Backwards repeat a contraction whose result is so "
                         "many times larger than its operands; 4 by default, "
                         "0: none. With --stash=least"),
                cl::cat(category));
cl::opt<std::string>
    stash("stash",
          cl::desc("What forwards keep for their backwards: least, the default "
                   "on the host: as few bytes as repeating cheap work leaves; "
                   "written, the default on devices: what they write to memory "
                   "anyway, so that no contraction is repeated"),
          cl::value_desc("least|written"), cl::cat(category));
cl::opt<std::string> recomputeLevel(
    "recompute-level",
    cl::desc("How much every layer computes again before its backward instead "
             "of keeping it: 0 nothing but cheap work, 1 and up more, as far "
             "as the layer offers; by default what the devices need, see "
             "--explain-memory"),
    cl::value_desc("level"), cl::cat(category));
cl::opt<std::string> offload(
    "offload",
    cl::desc(
        "Whether what forwards keep waits for the backward in the memory "
        "of the host, of devices whose cluster says how fast they reach it "
        "(host_bandwidth): auto (default), where a stage does not fit and "
        "copying costs less time than computing again; none; all, "
        "wherever it saves memory of the device"),
    cl::value_desc("auto|none|all"), cl::cat(category));
cl::opt<std::string> bucketBytes(
    "bucket-bytes",
    cl::desc("Ranks that share a stage sum its gradients in buckets of this "
             "many bytes, beside the rest of the backward (default: 1MiB, on "
             "GPUs 25MiB); 0: one of them sums, and sends what it updated"),
    cl::value_desc("bytes"), cl::cat(category));
cl::opt<std::string> scoreBytes(
    "score-bytes",
    cl::desc("Attention on a device is one kernel, and its scores are no "
             "array, if they would take more than this, of one microbatch in "
             "float32; 4MiB by default"),
    cl::value_desc("bytes"), cl::cat(category));
cl::opt<bool> explainMemory("explain-memory",
                            cl::desc("Print what forwards keep for their "
                                     "backwards and what these repeat"),
                            cl::cat(category));
cl::opt<std::string> explainTime(
    "explain-time",
    cl::desc("Print what a step on GPUs is estimated to take: every kernel and "
             "call of a library, the most expensive first, with its bytes, "
             "operations, blocks, time and share, from the rates of --cluster; "
             "=json prints JSON instead, =FILE.json writes it there. pp-run "
             "--explain-time does the same for an artifact"),
    cl::value_desc("json|file"), cl::ValueOptional, cl::cat(category));
cl::opt<bool> quiet("quiet", cl::desc("Do not print plan and memory"),
                    cl::cat(category));

cl::opt<Emit> emit(
    "emit", cl::desc("Where to stop"), cl::init(Emit::Artifact),
    cl::values(clEnumValN(Emit::Graph, "graph", "layers and costs"),
               clEnumValN(Emit::Program, "program", "stages on devices"),
               clEnumValN(Emit::Schedule, "schedule", "order of every rank"),
               clEnumValN(Emit::Rank, "rank", "rank programs"),
               clEnumValN(Emit::Host, "host", "kernels and calls"),
               clEnumValN(Emit::Kernels, "kernels",
                          "kernels of a device, and calls that launch them"),
               clEnumValN(Emit::Assembly, "assembly",
                          "kernels as the device's assembler reads them, for "
                          "the first architecture"),
               clEnumValN(Emit::LLVM, "llvm", "LLVM IR, not optimised"),
               clEnumValN(Emit::Artifact, "artifact", "the artifact")),
    cl::cat(category));

/// A whole number from the command line, or an error with its option.
LogicalResult readNumber(const cl::opt<std::string> &option,
                         std::optional<int64_t> &number, int64_t least = 1,
                         const char *word = "") {
  if (option.empty())
    return success();
  int64_t value;
  if (StringRef(option).getAsInteger(10, value) || value < least) {
    llvm::errs() << "error: --" << option.ArgStr << " must be " << word
                 << (least > 0 ? "a positive number" : "a number from 0")
                 << ", but is '" << option << "'\n";
    return failure();
  }
  number = value;
  return success();
}

LogicalResult readShards(std::optional<int64_t> &number) {
  if (shards != "auto")
    return readNumber(shards, number, /*least=*/1, "auto or ");
  number = kChooseShards;
  return success();
}

/// A number of bytes from the command line, as 25MiB or 4096, or an error with
/// its option.
LogicalResult readBytes(const cl::opt<std::string> &option,
                        std::optional<int64_t> &bytes, int64_t least = 0) {
  if (option.empty())
    return success();
  Result<Bytes> size = parseBytes(option);
  if (!size || size->value < least) {
    llvm::errs() << "error: --" << option.ArgStr
                 << " must be a size such as 200MiB, but is '" << option
                 << "'\n";
    return failure();
  }
  bytes = size->value;
  return success();
}

LogicalResult readTarget(ArtifactOptions &target) {
  target.cpu = targetCpu;
  if (!noCache)
    target.cacheFolder =
        cacheDir.empty() ? defaultCacheFolder() : cacheDir.getValue();
  std::optional<int64_t> size;
  if (failed(readBytes(cacheSize, size, /*least=*/1)))
    return failure();
  if (size)
    target.cacheBytes = uint64_t(*size);
  return success();
}

/// A file's plan in place of its name.
LogicalResult readPlan(std::string &plan) {
  if (!StringRef(plan).ends_with(".json"))
    return success();
  Result<std::string> text = readTextFile(plan);
  std::string problem = text ? std::string() : text.error().message;
  if (text)
    if (auto parsed = llvm::json::parse(*text); !parsed)
      problem = "'" + plan +
                "' is not JSON: " + llvm::toString(parsed.takeError()) +
                "; write it with pp-plan --json";
  if (!problem.empty()) {
    llvm::errs() << "error: " << problem << "\n";
    return failure();
  }
  plan = *text;
  return success();
}

/// What the planner and the passes are asked for.
LogicalResult readCompileOptions(CompileOptions &options) {
  options.cluster = cluster;
  options.memory = memory;
  options.planner = planner;
  options.plan = plan;
  options.offload = offload;
  options.schedule = schedule;
  options.placement = placement;
  options.objective = objective;
  options.profile = profile;
  options.layers = layers;
  options.shardHints = shardHints;
  options.sequenceParallel = sequenceParallel;
  options.target = deviceTarget;
  options.ptx = ptx;
  options.tf32 = tf32;
  options.stash = stash;
  if (failed(readPlan(options.plan)) ||
      failed(readNumber(stages, options.stages)) ||
      failed(readNumber(chunks, options.chunks)) ||
      failed(readShards(options.shards)) ||
      failed(readNumber(dataParallel, options.dataParallel)) ||
      failed(readNumber(maxReplicas, options.maxReplicas, 0)) ||
      failed(readNumber(repeatRatio, options.repeatRatio, 0)) ||
      failed(readNumber(recomputeLevel, options.recomputeLevel, 0)) ||
      failed(readBytes(scoreBytes, options.scoreBytes)) ||
      failed(readBytes(bucketBytes, options.bucketBytes)) ||
      failed(readNumber(microbatches, options.microbatches)))
    return failure();
  return success();
}

} // namespace

FailureOr<Options> readOptions(int argc, char **argv) {
  registerPassManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Stagewright: compiles a training step for a pipeline of devices\n\n"
      "The passes are those of pp-opt --stagewright-pipeline. The flags of "
      "MLIR's pass managers work here as well:\n--mlir-print-ir-after-all, "
      "--mlir-print-ir-tree-dir=FOLDER and others "
      "(--help-hidden)\n");

  Options options;
  if (failed(readCompileOptions(options.compile)))
    return failure();
  options.input = input;
  options.output = output;
  options.emit = emit;
  options.quiet = quiet;
  options.explainMemory = explainMemory;
  options.timing = timing;
  options.givesScoreBytes = scoreBytes.getNumOccurrences() > 0;
  if (explainTime.getNumOccurrences() > 0)
    options.explainTime = explainTime;
  if (failed(check(options)) || failed(readTarget(options.artifact)))
    return failure();
  options.compile.cacheFolder = options.artifact.cacheFolder;
  return options;
}
