//===- Options.cpp - the command line of pp-compile -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagGroups.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Support/Text.h"
#include "stagewright/Support/Units.h"

using namespace mlir;
using namespace stagewright;
namespace cl = llvm::cl;

namespace {
cl::opt<std::string> input(cl::Positional, cl::desc("model.mlir"),
                           cl::init("-"), cl::cat(category()));
cl::opt<std::string> output("o", cl::desc("Output file"),
                            cl::value_desc("file"), cl::cat(category()));
cl::opt<bool> timing("timing", cl::desc("Print the time of every pass"),
                     cl::cat(category()));
cl::opt<bool> explainMemory(
    "explain-memory",
    cl::desc("Print what forwards keep for their backwards, what backwards "
             "recompute, and what is offloaded to host memory"),
    cl::cat(category()));
cl::opt<std::string> explainTime(
    "explain-time",
    cl::desc(
        "Print the estimated time of a step on GPUs at the rates of --cluster: "
        "every kernel and library call, most expensive first, with bytes, "
        "operations, blocks, time and share. =json prints JSON, =FILE.json "
        "writes it to a file. For an artifact use pp-run --explain-time"),
    cl::value_desc("json|file"), cl::ValueOptional, cl::cat(category()));
cl::opt<bool> quiet("quiet", cl::desc("Do not print the plan and the memory"),
                    cl::cat(category()));
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
    cl::cat(category()));

} // namespace

cl::OptionCategory &category() {
  static cl::OptionCategory category("pp-compile options");
  return category;
}

LogicalResult readNumber(const cl::opt<std::string> &option,
                         std::optional<int64_t> &number, int64_t min,
                         const char *word) {
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

LogicalResult readBytes(const cl::opt<std::string> &option,
                        std::optional<int64_t> &bytes, int64_t min) {
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

FailureOr<Options> readOptions(int argc, char **argv) {
  registerPassManagerCLOptions();
  cl::HideUnrelatedOptions(category());
  cl::ParseCommandLineOptions(
      argc, argv,
      "Stagewright: compiles a training step for a pipeline of devices\n\nRuns "
      "the passes of pp-opt --stagewright-pipeline. MLIR's pass manager flags "
      "also work: --mlir-print-ir-after-all,\n--mlir-print-ir-tree-dir=FOLDER "
      "and others (--help-hidden)\n");

  Options options;
  options.input = input;
  options.output = output;
  options.emit = emit;
  options.quiet = quiet;
  options.explainMemory = explainMemory;
  options.timing = timing;
  if (explainTime.getNumOccurrences() > 0)
    options.explainTime = explainTime;
  if (failed(readPlanFlags(options.compile)) ||
      failed(readShardFlags(options.compile)) ||
      failed(readMemoryFlags(options.compile)) ||
      failed(readTargetFlags(options)) || failed(check(options)))
    return failure();
  return options;
}
