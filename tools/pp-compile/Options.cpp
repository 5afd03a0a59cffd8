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
cl::opt<std::string> output("o", cl::desc("Output file"),
                            cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> cluster(
    "cluster",
    cl::desc("Devices: local:N, another preset or a cluster file. Append ,peak "
             "to assume the peak rate for contractions of every size"),
    cl::cat(category));
cl::opt<std::string> stages("stages", cl::desc("Number of stages"),
                            cl::cat(category));
cl::opt<std::string> microbatches("microbatches",
                                  cl::desc("Microbatches per step"),
                                  cl::cat(category));
cl::opt<std::string> memory("memory", cl::desc("Memory limit per device"),
                            cl::cat(category));
cl::opt<std::string>
    planner("planner",
            cl::desc("Planner (default: auto), see pp-plan --list-planners"),
            cl::cat(category));
cl::opt<std::string>
    maxReplicas("max-replicas",
                cl::desc("Max devices per stage. They split every microbatch "
                         "or take microbatches in turn. 0 (default): no limit"),
                cl::cat(category));
cl::opt<std::string> plan(
    "plan",
    cl::desc(
        "Use these stages and replicas instead of planning: ranges of layers, "
        "such as \"[0,3)x2:3+1 [3,6)x1\", or a FILE.json written by pp-plan "
        "--json. After the colon: the samples of each replica (default: by its "
        "speed)"),
    cl::cat(category));
cl::opt<std::string> annotate(
    "annotate",
    cl::desc("How layers are placed, by the names of their parameters or of "
             "the modules that hold them: a file with lines such as "
             "'h/*/mlp=split(2)' or 'encoder=replicate(4)', or the text "
             "itself. A JAX model can contain the same annotations, such as "
             "stagewright.split(2)"),
    cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> shards(
    "tensor-parallel",
    cl::desc("Split every layer over this many devices. The compiler chooses "
             "the parameters whose split saves the most time, unless --shard "
             "or the model's file specifies them. auto: the fastest number, "
             "with matching --stages and --data-parallel unless given. "
             "ROWSxCOLUMNS: a grid of devices, along both axes of which "
             "parameters are split as --shard, as in */w=0;1, or shardings "
             "over two axes in the model's file specify; nothing is chosen. "
             "WAYS,WAYS,...: the stages of a pipeline have these numbers of "
             "devices, as 4,2; layers are cut into stages before the split"),
    cl::value_desc("ways|auto|rowsxcolumns|ways,ways"), cl::cat(category));
cl::opt<std::string> stageDevices(
    "stage-devices",
    cl::desc("Devices of the stages of --tensor-parallel=WAYS,WAYS by their "
             "number in the cluster, as 0-2;1,3. Stages may share devices: "
             "these then run the layers of both (default: no two share any)"),
    cl::value_desc("devices;devices"), cl::cat(category));
cl::opt<std::string> shardHints(
    "shard",
    cl::desc(
        "How to split parameters: comma-separated GLOB=DIM, or "
        "GLOB=DIM:CHUNKS if the dimension holds several arrays side by "
        "side, such as '*/qkv=1:3,*/o=0,*/fc=1,*/proj=0', "
        "GLOB=DIM:CHUNKS:UNIT to keep UNIT consecutive elements on one shard, "
        "GLOB=whole, or "
        "GLOB=auto for the split that saves the most time. The first matching "
        "glob decides; parameters without one follow the model's file, if it "
        "has hints. With neither, all are auto. The exact name of a batch, as "
        "in ids=0, splits that batch over the shards. Over a grid of shards: "
        "GLOB=whole, or DIM, DIM:CHUNKS, DIM:CHUNKS:UNIT or whole for each "
        "axis, separated by semicolons, as '*/qkv=1:3;0,*/o=0;whole'"),
    cl::value_desc("glob=dim,..."), cl::cat(category));
cl::opt<std::string> dataParallel(
    "data-parallel",
    cl::desc("Copies of all shards and stages of --tensor-parallel, each on "
             "its own devices. They take microbatches in turn (default: 1). "
             "Without shards use --max-replicas or --plan"),
    cl::value_desc("copies"), cl::cat(category));
cl::opt<bool> sequenceParallel(
    "sequence-parallel",
    cl::desc("After a sum over the shards of --tensor-parallel, each shard "
             "keeps only its rows until a layer needs all rows, so norms and "
             "the like are split too (default: true)"),
    cl::init(true), cl::cat(category));
cl::opt<bool> shardCollectives(
    "shard-collectives",
    cl::desc("Where the parts are equal, the shards of --tensor-parallel join "
             "a value by a single all-gather, and redistribute one by a single "
             "all-to-all, instead of a message from each to all others "
             "(default: false)"),
    cl::cat(category));
cl::opt<bool> recomputeLayers(
    "recompute-layers",
    cl::desc("Layers of --tensor-parallel keep only their inputs, and their "
             "backwards repeat their forwards, messages between the shards "
             "included: all layers but the last, or, with "
             "--tensor-parallel=auto, those for which the plan saves time. "
             "Has no effect on steps without a backward, nor on --emit=graph"),
    cl::cat(category));
cl::opt<std::string> schedule(
    "schedule",
    cl::desc("Schedule, such as gpipe, 1f1b or zb-h1. plan (default): the one "
             "that the planner finds fastest; auto: search for the fastest "
             "order for the plan; FILE.csv: a schedule in PyTorch's format"),
    cl::init("plan"), cl::cat(category));
cl::opt<std::string> objective(
    "objective",
    cl::desc("What --schedule=auto minimises: makespan (default) or span"),
    cl::cat(category));
cl::opt<Execution> execution(
    "execution",
    cl::desc(
        "How a rank runs its actions. Actions of one kind and stage stay in "
        "the order of their microbatches, so results are bit-identical"),
    cl::values(
        clEnumValN(Execution::Ordered, "ordered",
                   "in the order of the schedule (default)"),
        clEnumValN(Execution::Ready, "ready",
                   "as they become ready, backwards first, up to a limit of "
                   "microbatches in flight for each stage; only on CPUs. Use "
                   "it if the times of actions vary")),
    cl::init(Execution::Ordered), cl::cat(category));
cl::opt<std::string> spareCredits(
    "spare-credits",
    cl::desc("With --execution=ready: additional microbatches in flight per "
             "stage, beyond those needed if actions take as long as planned, "
             "so that a late stage does not stop the others (default: 0)"),
    cl::value_desc("credits"), cl::cat(category));
cl::opt<std::string>
    policy("policy",
           cl::desc("Policy by which transfers between hosts share NICs: oes, "
                    "guaranteed, fair or fifo. Computes a bound on the "
                    "time of a step under this policy, and stores in the "
                    "artifact the rate guaranteed to each transfer, for pp-run "
                    "--pace=sends"),
           cl::cat(category));
cl::opt<std::string>
    chunks("chunks",
           cl::desc("Stages per device (default: what the schedule needs)"),
           cl::cat(category));
cl::opt<std::string>
    placement("placement",
              cl::desc("Which device holds which stages: linear, loop, v or "
                       "twin (default: what the schedule needs)"),
              cl::cat(category));
cl::opt<std::string> layers(
    "layers",
    cl::desc("How to find layers. auto (default): scopes or modules of "
             "parameters, at the level at which the model repeats; flow: cut "
             "where little data is live; a number N: the first N components of "
             "a scope; or a pattern such as 'transformer/h/*'"),
    cl::value_desc("auto|flow|depth|pattern"), cl::cat(category));
cl::opt<std::string> profile("profile",
                             cl::desc("Costs measured by pp-run --profile"),
                             cl::cat(category));
cl::opt<std::string>
    deviceTarget("target",
                 cl::desc("Where stages run: host (default), cuda, or cuda "
                          "with architectures, such as cuda:sm_80,sm_90a"),
                 cl::init("host"), cl::cat(category));
cl::opt<std::string>
    ptx("ptx",
        cl::desc("Architectures for which a GPU artifact also contains PTX, "
                 "which newer GPUs and older drivers compile at load. Default: "
                 "the lowest architecture of --target; all: every architecture "
                 "of --target; none; or others, such as sm_80,sm_90"),
        cl::value_desc("arch|none|all"), cl::cat(category));
cl::opt<Float32Products> tf32(
    "tf32",
    cl::desc("Let the GPU library multiply float32 on tensor cores, as TF32 "
             "(10 bits of mantissa). Default: full float32"),
    cl::ValueOptional, cl::init(Float32Products::Exact),
    cl::values(
        clEnumValN(Float32Products::Tf32, "", "the same as 1x"),
        clEnumValN(Float32Products::Tf32, "1x",
                   "operands of contractions and convolutions are "
                   "rounded: errors of 1e-3"),
        clEnumValN(Float32Products::Tf32x3, "3x",
                   "each contraction as three products of rounded "
                   "parts: errors of 1e-6; convolutions stay in full float32")),
    cl::cat(category));
cl::opt<std::string>
    targetCpu("target-cpu",
              cl::desc("CPU to compile for: native (default) or an LLVM name "
                       "such as x86-64-v3 (AVX2) or x86-64-v4 (AVX-512). If "
                       "several are given, separated by commas, the artifact "
                       "has code for each and uses the best at run time"),
              cl::init("native"), cl::cat(category));
cl::opt<std::string>
    cacheDir("cache-dir",
             cl::desc("Folder for the cache of native code (default: "
                      "$XDG_CACHE_HOME/stagewright, or ~/.cache/stagewright if "
                      "that is not set)"),
             cl::value_desc("folder"), cl::cat(category));
cl::opt<bool> noCache("no-cache",
                      cl::desc("Do not read or write the cache of native code"),
                      cl::cat(category));
cl::opt<std::string>
    cacheSize("cache-size",
              cl::desc("Max size of the cache, such as 200MiB (default: 1GiB)"),
              cl::value_desc("bytes"), cl::cat(category));
cl::opt<bool> timing("timing", cl::desc("Print the time of every pass"),
                     cl::cat(category));
cl::opt<std::string> repeatRatio(
    "repeat-ratio",
    cl::desc("Recompute a contraction in the backward if its result is at "
             "least this many times as large as its operands and recomputing "
             "is cheap enough (default: 4; 0: never). Implies --stash=least if "
             "--stash is not given"),
    cl::cat(category));
cl::opt<std::string>
    stash("stash",
          cl::desc("What forwards keep for their backwards. least (default on "
                   "the host): the fewest bytes, by recomputing cheap work; "
                   "written (default on GPUs): also what they write to memory "
                   "anyway, so no contraction is recomputed"),
          cl::value_desc("least|written"), cl::cat(category));
cl::opt<std::string> recomputeLevel(
    "recompute-level",
    cl::desc("How much every layer recomputes before its backward instead of "
             "keeping it. 0: only cheap work; 1 and up: more, as far as the "
             "layer can. Default: what fits in memory, see --explain-memory"),
    cl::value_desc("level"), cl::cat(category));
cl::opt<std::string> offload(
    "offload",
    cl::desc("Whether to offload what forwards keep for backwards to host "
             "memory, on clusters with host_bandwidth. auto (default): if a "
             "stage does not fit and copying is faster than recomputing; none; "
             "all: wherever it saves device memory"),
    cl::value_desc("auto|none|all"), cl::cat(category));
cl::opt<std::string> bucketBytes(
    "bucket-bytes",
    cl::desc("Replicas of a stage sum its gradients in buckets of this size "
             "while the rest of the backward runs (default: 1MiB, on GPUs "
             "25MiB). 0: one replica sums the gradients, updates the "
             "parameters, and sends them to the others"),
    cl::value_desc("bytes"), cl::cat(category));
cl::opt<std::string> averageEvery(
    "average-every",
    cl::desc(
        "Do not sum gradients over replicas: each updates its own "
        "parameters, and they are averaged every so many steps. The result "
        "then differs from synchronous training (default: exact sums)"),
    cl::value_desc("steps"), cl::cat(category));
cl::opt<std::string> averageDelay(
    "average-delay",
    cl::desc("With --average-every: number of steps between the start of an "
             "average and its merge; the sum runs during these steps. 0: the "
             "step waits for the sum; auto (default): as many as the "
             "predicted times require"),
    cl::value_desc("steps|auto"), cl::cat(category));
cl::opt<std::string> averageMerge(
    "average-merge",
    cl::desc("corrected (default): add the average minus the parameters that "
             "the replica had when the average began, so no step is lost; "
             "convex: xi times the replica's parameters plus (1 - xi) times "
             "the average, with xi from --average-xi"),
    cl::value_desc("corrected|convex"), cl::cat(category));
cl::opt<std::string>
    averageXi("average-xi",
              cl::desc("Share of its own parameters that a replica keeps in a "
                       "convex merge (default: 0.25)"),
              cl::value_desc("0..1"), cl::cat(category));
cl::opt<std::string> scoreBytes(
    "score-bytes",
    cl::desc(
        "On GPUs, compile attention to one kernel that stores no scores if "
        "those of one microbatch in float32 exceed this size (default: 4MiB)"),
    cl::value_desc("bytes"), cl::cat(category));
cl::opt<bool> explainMemory(
    "explain-memory",
    cl::desc("Print what forwards keep for their backwards, what backwards "
             "recompute, and what is offloaded to host memory"),
    cl::cat(category));
cl::opt<std::string> explainTime(
    "explain-time",
    cl::desc(
        "Print the estimated time of a step on GPUs at the rates of --cluster: "
        "every kernel and library call, most expensive first, with bytes, "
        "operations, blocks, time and share. =json prints JSON, =FILE.json "
        "writes it to a file. For an artifact use pp-run --explain-time"),
    cl::value_desc("json|file"), cl::ValueOptional, cl::cat(category));
cl::opt<bool> quiet("quiet", cl::desc("Do not print the plan and the memory"),
                    cl::cat(category));

cl::opt<Emit> emit(
    "emit", cl::desc("Level at which to stop"), cl::init(Emit::Artifact),
    cl::values(
        clEnumValN(Emit::Graph, "graph", "layers and costs"),
        clEnumValN(Emit::Program, "program", "stages on devices"),
        clEnumValN(Emit::Schedule, "schedule",
                   "order of actions on every rank"),
        clEnumValN(Emit::Rank, "rank", "rank programs"),
        clEnumValN(Emit::Host, "host",
                   "CPU kernels and the calls of the runtime"),
        clEnumValN(Emit::Kernels, "kernels",
                   "GPU kernels and the calls that launch them"),
        clEnumValN(Emit::Assembly, "assembly",
                   "assembly of the GPU kernels, for the first architecture"),
        clEnumValN(Emit::LLVM, "llvm", "unoptimised LLVM IR"),
        clEnumValN(Emit::Artifact, "artifact", "the artifact")),
    cl::cat(category));

/// Parses an integer option; reports an error that names the option.
LogicalResult readNumber(const cl::opt<std::string> &option,
                         std::optional<int64_t> &number, int64_t min = 1,
                         const char *word = "") {
  if (option.empty())
    return success();
  int64_t value;
  if (StringRef(option).getAsInteger(10, value) || value < min) {
    llvm::errs() << "error: --" << option.ArgStr << " must be " << word
                 << (min > 0 ? "a positive number" : "a number from 0")
                 << ", but is '" << option << "'\n";
    return failure();
  }
  number = value;
  return success();
}

/// Reads the numbers of shards of each stage, such as 4,2.
LogicalResult readStageShards(CompileOptions &options) {
  SmallVector<StringRef> texts;
  StringRef(shards).split(texts, ',');
  std::optional<int64_t> least, most;
  for (StringRef text : texts) {
    int64_t number;
    if (text.getAsInteger(10, number) || number < 1) {
      llvm::errs() << "error: --tensor-parallel must be a number of shards for "
                      "each stage, such as 4,2, but is '"
                   << shards << "'\n";
      return failure();
    }
    least = std::min(least.value_or(number), number);
    most = std::max(most.value_or(number), number);
  }
  options.shards = most;
  if (least != most || !stageDevices.empty())
    options.stageShards = shards;
  else if (!options.stages) // As many stages with one number.
    options.stages = int64_t(texts.size());
  if (options.stages && *options.stages != int64_t(texts.size())) {
    llvm::errs() << "error: --tensor-parallel=" << shards << " has numbers for "
                 << texts.size() << " stages, but --stages is "
                 << *options.stages << "; give one number for each stage\n";
    return failure();
  }
  return success();
}

/// Reads a number of shards, those of each stage, or the numbers along the axes
/// of a grid, such as 2x2.
LogicalResult readShards(CompileOptions &options) {
  std::optional<int64_t> &number = options.shards;
  std::string &grid = options.shardGrid;
  if (StringRef(shards).contains(','))
    return readStageShards(options);
  auto [first, second] = StringRef(shards).split('x');
  int64_t rows, columns;
  if (!second.empty() && !first.getAsInteger(10, rows) &&
      !second.getAsInteger(10, columns) && rows > 1 && columns > 1 &&
      rows < 1 << 16 && columns < 1 << 16) { // Their product is checked later.
    number = rows * columns;
    grid = shards;
    return success();
  }
  if (shards != "auto")
    return readNumber(shards, number, /*min=*/1,
                      "auto, a grid such as 2x2, a number for each stage such "
                      "as 4,2, or ");
  number = kChooseShards;
  return success();
}

/// Parses an option that is a number of bytes, such as 25MiB or 4096; reports
/// an error that names the option.
LogicalResult readBytes(const cl::opt<std::string> &option,
                        std::optional<int64_t> &bytes, int64_t min = 0) {
  if (option.empty())
    return success();
  Result<Bytes> size = parseBytes(option);
  if (!size || size->value < min) {
    llvm::errs() << "error: --" << option.ArgStr
                 << " must be a size such as 200MiB, but is '" << option
                 << "'\n";
    return failure();
  }
  bytes = size->value;
  return success();
}

/// Reads the options of averages over replicas, and checks how they are
/// combined; the pass checks their ranges.
LogicalResult readAveraging(CompileOptions &options) {
  if (failed(readNumber(averageEvery, options.averageEvery)))
    return failure();
  for (const auto *option : {&averageDelay, &averageMerge, &averageXi})
    if (!option->empty() && averageEvery.empty()) {
      llvm::errs() << "error: --" << option->ArgStr
                   << " says how replicas average their parameters; give "
                      "--average-every=STEPS, too\n";
      return failure();
    }
  options.averageDelay = averageDelay;
  options.averageMerge = averageMerge;
  double xi = 0;
  if (averageXi.empty())
    return success();
  if (StringRef(averageXi).getAsDouble(xi)) {
    llvm::errs() << "error: --average-xi must be a number from 0 to 1, but is '"
                 << averageXi << "'\n";
    return failure();
  }
  if (averageMerge != "convex") {
    llvm::errs() << "error: --average-xi is the share that a replica keeps in "
                    "a convex merge; give --average-merge=convex, too\n";
    return failure();
  }
  options.averageXi = xi;
  return success();
}

LogicalResult readTarget(ArtifactOptions &target) {
  target.cpu = targetCpu;
  if (!noCache)
    target.cacheFolder =
        cacheDir.empty() ? defaultCacheFolder() : cacheDir.getValue();
  std::optional<int64_t> size;
  if (failed(readBytes(cacheSize, size, /*min=*/1)))
    return failure();
  if (size)
    target.cacheBytes = uint64_t(*size);
  return success();
}

/// If `plan` is the name of a JSON file, replaces it by the contents.
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

/// Reads the options of the planner and of the passes.
LogicalResult readCompileOptions(CompileOptions &options) {
  options.cluster = cluster;
  options.memory = memory;
  options.planner = planner;
  options.annotate = annotate;
  options.plan = plan;
  options.offload = offload;
  options.schedule = schedule;
  options.placement = placement;
  options.objective = objective;
  options.execution = execution;
  options.policy = policy;
  options.profile = profile;
  options.layers = layers;
  options.stageDevices = stageDevices;
  options.shardHints = shardHints;
  options.sequenceParallel = sequenceParallel;
  options.shardCollectives = shardCollectives;
  options.recomputeLayers = recomputeLayers;
  options.target = deviceTarget;
  options.ptx = ptx;
  options.float32 = tf32;
  options.stash = stash;
  if (failed(readPlan(options.plan)) ||
      failed(readNumber(stages, options.stages)) ||
      failed(readNumber(chunks, options.chunks)) ||
      failed(readShards(options)) ||
      failed(readNumber(dataParallel, options.dataParallel)) ||
      failed(readNumber(maxReplicas, options.maxReplicas, 0)) ||
      failed(readNumber(spareCredits, options.spareCredits, 0)) ||
      failed(readNumber(repeatRatio, options.repeatRatio, 0)) ||
      failed(readNumber(recomputeLevel, options.recomputeLevel, 0)) ||
      failed(readBytes(scoreBytes, options.scoreBytes)) ||
      failed(readBytes(bucketBytes, options.bucketBytes)) ||
      failed(readAveraging(options)) ||
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
      "Stagewright: compiles a training step for a pipeline of devices\n\nRuns "
      "the passes of pp-opt --stagewright-pipeline. MLIR's pass manager flags "
      "also work: --mlir-print-ir-after-all,\n--mlir-print-ir-tree-dir=FOLDER "
      "and others (--help-hidden)\n");

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
