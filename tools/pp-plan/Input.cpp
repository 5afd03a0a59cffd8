//===- Input.cpp - reading what pp-plan plans -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Dialect/Pipeline/IR/Annotation.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/ExplainLayouts.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Silence.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/Pipelines/Compile.h"
#include "stagewright/Pipelines/Shards.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Support/Files.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include <future>

using namespace mlir;

namespace stagewright {

static Error noCluster(const std::string &file) {
  return Error{"'" + file +
               "' names no devices; give them with --cluster=PRESET|FILE, "
               "--list-clusters lists the presets"};
}

static Error noMicrobatches(const std::string &file) {
  return Error{"'" + file +
               "' does not say how many microbatches a step has; give "
               "--microbatches=M"};
}

/// The text of an input. Standard input can be read only once, but inputs are
/// read several times.
static Result<std::string> textOf(const std::string &file) {
  if (file != "-")
    return readTextFile(file);
  static const Result<std::string> input = readTextFile(file);
  return input;
}

Result<std::string> guessFormat(const std::string &text,
                                const std::string &file) {
  StringRef content = StringRef(text).ltrim();
  StringRef name = file;
  auto has = [&](StringRef field) { return content.contains(field); };
  if (name.ends_with(".mlir") || content.starts_with("ML\xefR"))
    return std::string("mlir");
  if (name.ends_with(".chain"))
    return std::string("chain");
  if (content.starts_with("{") && has("\"maxSizePerFPGA\""))
    return std::string("dnn-partitioning");
  if (content.starts_with("{") && has("\"TMPCs\""))
    return std::string("piper");
  if (content.starts_with("{") && has("\"machines\"") && has("\"tasks\""))
    return std::string("dataflow");
  if (content.starts_with("node") && has(" -- "))
    return std::string("pipedream");
  if (has("pipeline.graph") || has("func.func"))
    return std::string("mlir");
  StringRef first = content;
  while (first.consume_front("#"))
    first = first.drop_until([](char c) { return c == '\n'; }).ltrim();
  if (!first.empty() && (llvm::isDigit(first.front()) || first.front() == '.'))
    return std::string("chain");
  return Error{"cannot determine the format of '" + file +
               "'; give it with --format=mlir|pipedream|dnn-partitioning|"
               "piper|chain|dataflow"};
}

/// Reads a profile and places it on the cluster of the options, else on its
/// own.
static Result<Problem> readProfile(const PlanOptions &options, size_t number,
                                   const std::string &format,
                                   const std::string &text) {
  const std::string &file = options.files[number];
  if (format == "dataflow")
    return Error{"a dataflow on standard input needs its format; give "
                 "--format=dataflow"};
  Result<ProfileFormat> reader = findProfileFormat(format);
  if (!reader)
    return Error{"unknown format '" + format +
                 "'; there are mlir, pipedream, dnn-partitioning, piper, "
                 "chain, dataflow"};
  Result<Problem> problem = reader->read(text, file);
  if (!problem)
    return problem;
  bool ownDevices = !problem->cluster.devices.empty();
  if (options.cluster.empty() && !ownDevices)
    return noCluster(file);
  // A profile with devices also has the number of microbatches, or a format
  // without microbatches.
  if (options.microbatches.empty() && !ownDevices)
    return noMicrobatches(file);
  if (options.cluster.empty())
    return problem;
  Result<Cluster> cluster = loadCluster(options.cluster);
  if (!cluster)
    return cluster.error();
  if (Status status = placeOn(*problem, *cluster); !status)
    return Error{file + ": " + status.error().message};
  return problem;
}

/// The options with which the graph of a module is formed, in the same way as
/// by `pipeline-partition`.
static CompileOptions compileOptions(const PlanOptions &options, size_t number,
                                     bool halves, int64_t ways) {
  CompileOptions compile;
  compile.cluster = options.cluster;
  compile.profile = options.profile;
  compile.layers = options.layers;
  compile.annotate = options.annotate;
  compile.target = options.target;
  compile.memory = options.memory;
  compile.recomputeLevel = options.recomputeLevel;
  compile.offload = options.offload;
  compile.halves = halves;
  if (ways > 1) {
    compile.shards = ways;
    compile.shardHints = options.shardHints;
    compile.stages = 2; // Layers as for a pipeline.
    compile.recomputeLayers = options.recompute && options.repeatsLayers;
  }
  if (options.schedule != "auto")
    compile.schedule = options.schedule;
  if (!options.microbatches.empty())
    compile.microbatches = options.microbatches[number];
  return compile;
}

/// Compiles `module`, and verifies it once, at the end: pp-plan compiles it for
/// many numbers of shards.
static LogicalResult compileQuickly(Level to, ModuleOp module,
                                    const CompileOptions &compile) {
  TimingScope untimed;
  auto configure = [](PassManager &manager) {
    manager.enableVerifier(false);
    return success();
  };
  return success(succeeded(compileTo(to, module, compile, untimed,
                                     /*report=*/nullptr, configure)) &&
                 succeeded(verify(module)));
}

/// Forms the layers of a step, for both forms of its backwards, and returns the
/// cluster. Does nothing to a graph.
static FailureOr<Cluster> formLayers(ModuleOp module,
                                     const PlanOptions &options, size_t number,
                                     int64_t ways) {
  const std::string &file = options.files[number];
  FailureOr<std::optional<Cluster>> cluster =
      pipeline::findCluster(module, options.cluster);
  if (failed(cluster))
    return failure();
  if (!*cluster)
    return emitError(module.getLoc(), noCluster(file).message);
  if (ways > 1 && !module.getOps<pipeline::GraphOp>().empty())
    return emitError(module.getLoc())
           << "layers of a graph cannot be split; give the step that it was "
              "formed from, or leave out --tensor-parallel";
  if (failed(compileQuickly(
          Level::Layers, module,
          compileOptions(options, number, /*halves=*/false, ways))))
    return failure();
  return std::move(**cluster);
}

/// Converts a module with formed layers to a planning problem on `cluster`.
/// `isStep`: it was a step, whose backwards have no form yet.
static FailureOr<Input> inputOfLayers(ModuleOp module, const Cluster &cluster,
                                      const PlanOptions &options, size_t number,
                                      bool isStep, bool halves, int64_t ways) {
  CompileOptions compile = compileOptions(options, number, halves, ways);
  compile.annotate.clear(); // The layers have them.
  compile.formed = isStep;
  if (failed(compileQuickly(Level::Graph, module, compile)))
    return failure();
  auto graphs = llvm::to_vector(module.getOps<pipeline::GraphOp>());
  if (graphs.size() != 1)
    return emitError(module.getLoc())
           << "one graph can be planned, the module has " << graphs.size();
  // Infer what can be sliced, as pipeline-partition does.
  bool replicates = ways == 1 && options.maxReplicas.value_or(0) != 1;
  if (replicates) {
    PassManager rule(module.getContext());
    rule.addPass(pipeline::createInferSliceable());
    if (failed(rule.run(module)))
      return failure();
  }
  FailureOr<Problem> problem = pipeline::problemOf(graphs.front(), cluster);
  if (failed(problem))
    return failure();
  if (replicates)
    pipeline::shareMicrobatches(graphs.front(), *problem);
  if (std::optional<int64_t> stated = pipeline::statedMicrobatches(module))
    problem->microbatches = *stated;
  else if (options.microbatches.empty())
    return emitError(module.getLoc(),
                     noMicrobatches(options.files[number]).message);
  Input input{std::move(*problem), true, {}};
  if (ways == 1)
    return input;
  input.problem.model.sharedNics = options.model.sharedNics;
  FailureOr<GangProblems> gangs =
      gangProblemsOf(graphs.front(), input.problem, ways, compile);
  if (failed(gangs))
    return failure();
  input.gangs = std::move(*gangs);
  return input;
}

static const DialectRegistry &allDialects() {
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    mlir::registerAllDialects(all);
    mlir::registerAllExtensions(all);
    stagewright::registerAllDialects(all);
    return all;
  }();
  return registry;
}

/// The format of the options, else a guess.
static Result<std::string> formatOf(const PlanOptions &options,
                                    const std::string &text,
                                    const std::string &file) {
  return options.format.empty() ? guessFormat(text, file)
                                : Result<std::string>(options.format);
}

namespace {
/// Parses a module. While the reader lives, errors in the module are written to
/// `messages`, with their places.
class ModuleReader {
public:
  ModuleReader(const std::string &text, const std::string &file,
               llvm::raw_ostream &messages = llvm::errs())
      : context(allDialects()), diagnostics(sources, &context, messages) {
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, file),
                               llvm::SMLoc());
  }
  OwningOpRef<ModuleOp> parse() {
    return parseSourceFile<ModuleOp>(sources, &context);
  }

  MLIRContext context;

private:
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics;
};
} // namespace

Result<int64_t> annotatedShards(const PlanOptions &options, size_t number) {
  const std::string &file = options.files[number];
  Result<std::string> text = textOf(file);
  if (!text)
    return text.error();
  Result<std::string> format = formatOf(options, *text, file);
  bool mayHave = !options.annotate.empty() ||
                 StringRef(*text).contains(pipeline::kAnnotationScope);
  if (!format || *format != "mlir" || !mayHave)
    return int64_t(1); // InputReader reports what is wrong.
  ModuleReader reader(*text, file);
  OwningOpRef<ModuleOp> module = reader.parse();
  CompileOptions compile;
  compile.annotate = options.annotate;
  if (std::optional<int64_t> ways = options.shards())
    compile.shards = *ways;
  if (!module || failed(applyAnnotations(*module, compile)))
    return Error{"'" + file + "' cannot be planned"};
  if (compile.stages)
    return Error{"'" + file +
                 "' has several annotations split(N) one after "
                 "the other, each a stage of its own, which pp-plan does not "
                 "plan; compile it, for example with pp-compile "
                 "--emit=schedule"};
  return compile.shards.value_or(1);
}

Result<std::string> explainLayouts(const PlanOptions &options, size_t number) {
  const std::string &file = options.files[number];
  Result<std::string> text = textOf(file);
  if (!text)
    return text;
  Result<std::string> format = formatOf(options, *text, file);
  if (!format)
    return format;
  if (*format != "mlir")
    return Error{"'" + file +
                 "' is a profile, without dimensions that could be split; give "
                 "a module to --explain-layouts"};
  ModuleReader reader(*text, file);
  OwningOpRef<ModuleOp> module = reader.parse();
  if (!module)
    return Error{"'" + file + "' is not an MLIR module"};
  if (!module->getOps<pipeline::GraphOp>().empty())
    return Error{"'" + file +
                 "' is a graph, whose layers cannot be split; give the step "
                 "that it was formed from to --explain-layouts"};
  PassManager manager(&reader.context);
  manager.addPass(pipeline::createInferRoles());
  manager.addPass(pipeline::createSplitSlices());
  if (failed(manager.run(*module)))
    return Error{"'" + file + "' cannot be explained"};
  auto explained = pipeline::explainLayouts(
      pipeline::findAnnotatedStep(*module), options.shards().value_or(2));
  if (failed(explained))
    return Error{"'" + file + "' cannot be explained"};
  return *explained;
}

/// A module with formed layers.
class InputReader::Module {
public:
  Module(const std::string &text, const std::string &file,
         llvm::raw_ostream &messages)
      : reader(text, file, messages) {}

  ModuleReader reader;
  OwningOpRef<ModuleOp> layers;
  Cluster cluster;
  bool isStep = false; ///< Else it was a graph.
};

InputReader::InputReader(const PlanOptions &options, size_t file, int64_t ways,
                         llvm::raw_ostream &messages)
    : options(options), number(file), ways(ways), messages(messages) {}
InputReader::~InputReader() = default;

static Error cannotBePlanned(const std::string &file) {
  return Error{"'" + file + "' cannot be planned"};
}

Status InputReader::formModule(const std::string &text) {
  const std::string &file = options.files[number];
  auto formed = std::make_unique<Module>(text, file, messages);
  formed->layers = formed->reader.parse();
  if (!formed->layers)
    return Error{"'" + file + "' is not an MLIR module"};
  formed->isStep = formed->layers->getOps<pipeline::GraphOp>().empty();
  FailureOr<Cluster> cluster =
      formLayers(*formed->layers, options, number, ways);
  if (failed(cluster))
    return cannotBePlanned(file);
  formed->cluster = std::move(*cluster);
  module = std::move(formed);
  return {};
}

Result<Input> InputReader::readForm(bool halves, bool isFirst) {
  // Both forms have the same diagnostics; only the first prints them.
  std::optional<Silence> silence;
  if (!isFirst)
    silence.emplace(&module->reader.context);
  OwningOpRef<ModuleOp> own(module->layers->clone());
  FailureOr<Input> input = inputOfLayers(*own, module->cluster, options, number,
                                         module->isStep, halves, ways);
  if (failed(input))
    return cannotBePlanned(options.files[number]);
  std::vector<Problem *> all = {&input->problem};
  if (input->gangs)
    all.insert(all.end(), {&input->gangs->most, &input->gangs->least,
                           &input->gangs->compute});
  for (Problem *problem : all)
    if (Status status = applyOptions(options, number, *problem); !status)
      return status.error();
  for (size_t i = 1; i < all.size(); ++i) {
    // Gangs do not offload, and do not share microbatches by samples.
    all[i]->offload = OffloadChoice::None;
    all[i]->samples = 1;
  }
  return std::move(*input);
}

Result<Input> InputReader::read(bool halves, Result<Input> *other) {
  if (module)
    return readForm(halves, /*isFirst=*/false);
  const std::string &file = options.files[number];
  Result<std::string> text = textOf(file);
  if (!text)
    return text.error();
  Result<std::string> format = formatOf(options, *text, file);
  if (!format)
    return format.error();
  if (*format != "mlir") {
    if (!options.annotate.empty())
      return Error{"'" + file +
                   "' is a profile, without parameters that --annotate could "
                   "name; leave it out"};
    if (!options.tensorParallel.empty())
      return Error{"'" + file +
                   "' is a profile, whose layers cannot be split; leave out "
                   "--tensor-parallel"};
    Result<Problem> problem = readProfile(options, number, *format, *text);
    if (!problem)
      return problem.error();
    if (Status status = applyOptions(options, number, *problem); !status)
      return status.error();
    return Input{std::move(*problem), false, {}};
  }
  if (Status status = formModule(*text); !status)
    return status.error();
  if (!other)
    return readForm(halves, /*isFirst=*/true);
  auto second = std::async(
      std::launch::async, [&] { return readForm(!halves, /*isFirst=*/false); });
  Result<Input> first = readForm(halves, /*isFirst=*/true);
  *other = second.get();
  return first;
}

} // namespace stagewright
