//===- Translations.cpp - translations of pp-translate --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Target/Profile.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace stagewright;
using namespace stagewright::pipeline;

/// Reports a reader's error, "file:12: reason" or "file: reason", at the line
/// in the file that it names.
static void emitAtPlace(MLIRContext *context, StringRef file,
                        StringRef message) {
  unsigned line = 1;
  if (message.consume_front(file) && message.consume_front(":") &&
      !message.consumeInteger(10, line))
    message.consume_front(":");
  emitError(FileLineColLoc::get(context, file, line, 1), message.ltrim());
}

/// Reads the only buffer of `sources` in `format`.
static OwningOpRef<Operation *>
import(StringRef format, llvm::SourceMgr &sources, MLIRContext *context) {
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  std::string file = buffer->getBufferIdentifier().str();
  auto fail = [&](const Error &error) {
    emitAtPlace(context, file, error.message);
    return nullptr;
  };
  Result<ProfileFormat> reader = findProfileFormat(format);
  if (!reader)
    return fail(reader.error());
  Result<Problem> problem = reader->read(buffer->getBuffer().str(), file);
  if (!problem)
    return fail(problem.error());
  Result<OwningOpRef<ModuleOp>> module = writeGraph(*context, *problem);
  if (!module)
    return fail(module.error());
  return std::move(*module);
}

/// Writes the plan of the only program of `module`.
static LogicalResult exportPlan(Operation *op, llvm::raw_ostream &stream) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return emitError(op->getLoc()) << "a plan is exported from a module";
  auto programs = llvm::to_vector(module.getOps<ProgramOp>());
  if (programs.size() != 1)
    return emitError(op->getLoc())
           << "one program can be exported, the module has " << programs.size()
           << "; run pipeline-partition";
  ProgramOp program = programs.front();
  FailureOr<Problem> problem =
      problemOf(graphOf(program), readCluster(clusterOf(program)));
  if (failed(problem))
    return failure();
  problem->microbatches = int64_t(program.getMicrobatches());
  Plan plan = planOf(program);
  problem->orders = {plan.order};
  auto evaluated = [&]() -> Status {
    if (Status status = problem->check(); !status)
      return status;
    Result<Network> network = Network::create(problem->cluster);
    if (!network)
      return network.error();
    return evaluate(*problem, *network, plan);
  };
  if (Status status = evaluated(); !status)
    return program.emitOpError(status.error().message);
  plan.value = plan.time.value;
  stream << planToJson(*problem, plan);
  return success();
}

/// Writes the orders of the only schedule of `module` in PyTorch's format.
static LogicalResult exportSchedule(Operation *op, llvm::raw_ostream &stream) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return emitError(op->getLoc()) << "a schedule is exported from a module";
  auto schedules = llvm::to_vector(module.getOps<ScheduleOp>());
  if (schedules.size() != 1)
    return emitError(op->getLoc())
           << "one schedule can be exported, the module has "
           << schedules.size() << "; run pipeline-schedule";
  if (failed(verifySchedule(schedules.front())))
    return failure();
  Result<std::string> csv = writeTorchCsv(readSchedule(schedules.front()));
  if (!csv)
    return emitError(schedules.front().getLoc()) << csv.error().message;
  stream << *csv;
  return success();
}

static void registerDialects(DialectRegistry &registry) {
  // Nodes may contain operations of any dialect.
  mlir::registerAllDialects(registry);
  stagewright::registerAllDialects(registry);
}

void stagewright::registerProfileTranslations() {
  auto add = [](StringRef flag, StringRef summary, const char *format) {
    TranslateToMLIRRegistration registration(
        flag, summary,
        [format](llvm::SourceMgr &sources, MLIRContext *context) {
          return import(format, sources, context);
        },
        [](DialectRegistry &registry) { registry.insert<PipelineDialect>(); });
  };
  add("import-chain", "rows of times and bytes to pipeline.graph", "chain");
  add("import-pipedream", "PipeDream's graph.txt to pipeline.graph",
      "pipedream");
  add("import-dnn-partitioning",
      "JSON of msr-fiddle/dnn-partitioning to pipeline.graph",
      "dnn-partitioning");
  add("import-piper", "JSON of msr-fiddle/piper to pipeline.graph", "piper");
  TranslateFromMLIRRegistration plan("export-plan",
                                     "the plan of a pipeline.program to JSON",
                                     exportPlan, registerDialects);
  TranslateFromMLIRRegistration schedule(
      "schedule-to-csv", "the orders of a pipeline.schedule to PyTorch's CSV",
      exportSchedule, registerDialects);
}
