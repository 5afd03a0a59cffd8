//===- pp-sim.cpp - how long a planned step takes -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/Simulation/WriteTrace.h"
#include "stagewright/Support/Files.h"
#include "stagewright/Support/Limits.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>

using namespace mlir;
using namespace stagewright;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("pp-sim options");

cl::opt<std::string> input(cl::Positional, cl::desc("plan.mlir"), cl::init("-"),
                           cl::cat(category));
cl::opt<std::string>
    order("order",
          cl::desc("schedule (the file's, taken if it has one), window, "
                   "greedy, cap-a, cap-b, gpipe or 1f1b; else the fastest"),
          cl::cat(category));
cl::opt<std::string>
    microbatches("microbatches",
                 cl::desc("Microbatches of a step, if not the planned ones"),
                 cl::cat(category));
cl::opt<bool> fullDuplex("full-duplex",
                         cl::desc("Channels carry both ways at once"),
                         cl::cat(category));
cl::opt<bool> noNic("no-nic", cl::desc("Channels of a host do not share a NIC"),
                    cl::cat(category));
cl::opt<std::string>
    slowdown("collective-slowdown",
             cl::desc("How many times longer compute takes while an "
                      "all-reduce runs (1.126 measured by Galvatron)"),
             cl::init("1"), cl::cat(category));
cl::opt<std::string> svg("svg", cl::desc("Draw the step"),
                         cl::value_desc("file.svg"), cl::cat(category));
cl::opt<std::string> trace("trace",
                           cl::desc("Write the step for ui.perfetto.dev"),
                           cl::value_desc("file.json"), cl::cat(category));
cl::opt<bool> asJson("json", cl::desc("Print JSON instead of tables"),
                     cl::cat(category));
cl::opt<bool> grid("grid", cl::desc("Print the order of every device"),
                   cl::cat(category));
cl::opt<bool>
    criticalPath("critical-path",
                 cl::desc("Print what the end of the step waited for"),
                 cl::cat(category));

cl::extrahelp examples(R"(
EXAMPLES:

  pp-opt step.mlir -pipeline-partition="cluster=local:4 microbatches=8" > plan.mlir
  pp-sim plan.mlir                       which order is fastest, who is idle
  pp-sim plan.mlir --order=1f1b --svg=step.svg
  pp-sim plan.mlir --order=window --critical-path

A device's row says how long it computes, how long it is idle (bubble), the most
microbatches that are in flight on each of its stages, and the most memory that
it needs for them. `makespan` is from the first start to the last end anywhere,
`span` the longest from a device's own start to its own end.
)");

LogicalResult fail(const Error &error) {
  llvm::errs() << "error: " << error.message << "\n";
  return failure();
}

LogicalResult readOptions(SimulationOptions &options) {
  options.order = order;
  options.fullDuplex = fullDuplex;
  options.noNic = noNic;
  if (!order.empty() && order != "schedule")
    if (auto parsed = parseExecutionOrder(order.getValue()); !parsed)
      return fail(Error{"--order: " + parsed.error().message + ", schedule"});
  if (!microbatches.empty()) {
    int64_t number;
    if (StringRef(microbatches).getAsInteger(10, number) || number < 1 ||
        number > kMostMicrobatches)
      return fail(Error{"--microbatches must be a number from 1 to " +
                        std::to_string(kMostMicrobatches) + ", but is '" +
                        microbatches + "'"});
    options.microbatches = number;
  }
  if (StringRef(slowdown).getAsDouble(options.collectiveSlowdown) ||
      !std::isfinite(options.collectiveSlowdown) ||
      options.collectiveSlowdown < 1)
    return fail(Error{"--collective-slowdown must be a number of at least 1, "
                      "but is '" +
                      slowdown + "'"});
  return success();
}

/// Files first: a table says that they are there.
LogicalResult report(const Simulation &simulation) {
  if (!svg.empty())
    if (Status status =
            writeTextFile(svg, drawSvg(simulation.model, simulation.timeline,
                                       simulation.names));
        !status)
      return fail(status.error());
  if (!trace.empty())
    if (Status status = writeTextFile(trace, writeTrace(simulation.model,
                                                        simulation.timeline,
                                                        simulation.names));
        !status)
      return fail(status.error());
  if (svg == "-" || trace == "-") // Nothing else on the same stream.
    return success();
  std::string text = asJson ? jsonOf(simulation) : tableOf(simulation);
  if (grid && !asJson)
    text += "\n" + gridOf(simulation);
  if (criticalPath && !asJson)
    text += "\n" + criticalPathOf(simulation);
  if (Status status = writeTextFile("-", text); !status)
    return fail(status.error());
  return success();
}

LogicalResult run(MLIRContext &context) {
  SimulationOptions options;
  if (failed(readOptions(options)))
    return failure();
  std::string message;
  auto file = openInputFile(input, &message);
  if (!file)
    return fail(Error{message});
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return fail(Error{"'" + input + "' is no MLIR module"});
  FailureOr<Simulation> simulation = simulateModule(*module, options);
  return failed(simulation) ? failure() : report(*simulation);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "Stagewright: simulates a planned step of a pipeline\n");
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  stagewright::registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  return failed(run(context));
}
