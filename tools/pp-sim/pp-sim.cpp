//===- pp-sim.cpp - simulates a planned step ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measured.h"
#include "PlainReport.h"
#include "SimulationReport.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "stagewright/InitAllDialects.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Simulation/ScheduleTimeline.h"
#include "stagewright/Simulation/WriteTrace.h"
#include "stagewright/Support/Files.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/Text.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>

using namespace mlir;
using namespace stagewright;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory ownCategory("pp-sim options");

cl::opt<std::string> input(cl::Positional, cl::desc("plan.mlir"), cl::init("-"),
                           cl::cat(ownCategory));
cl::opt<std::string> order(
    "order",
    cl::desc(
        "schedule (that of the file), window, greedy, gpipe, 1f1b, or cap-a "
        "or early-backward (both greedy with a limit on microbatches in "
        "flight: DAPPLE's P_A and P_B). Default: schedule if there is one, "
        "else the fastest"),
    cl::cat(ownCategory));
cl::opt<std::string>
    microbatches("microbatches",
                 cl::desc("Microbatches per step (default: those of the plan "
                          "or CSV); required with --schedule=NAME or auto"),
                 cl::cat(ownCategory));
cl::opt<bool>
    fullDuplex("full-duplex",
               cl::desc("Links carry transfers in both directions at once"),
               cl::cat(ownCategory));
cl::opt<bool> noNic("no-nic",
                    cl::desc("Transfers of a host do not share its NIC"),
                    cl::cat(ownCategory));
cl::opt<std::string> policy(
    "policy",
    cl::desc("Transfers between hosts share NICs as flows, instead of "
             "taking turns: oes (guaranteed rates, and the remaining "
             "bandwidth by water-filling), guaranteed, fair (max-min) or fifo"),
    cl::cat(ownCategory));
cl::opt<std::string>
    slowdown("collective-slowdown",
             cl::desc("Factor by which an all-reduce slows down concurrent "
                      "compute (Galvatron measured 1.126)"),
             cl::init("1"), cl::cat(ownCategory));
cl::opt<std::string>
    profile("profile",
            cl::desc("Use action times measured by pp-run --profile, and print "
                     "how far the measured step is from the simulated one"),
            cl::value_desc("file.json"), cl::cat(ownCategory));
cl::opt<std::string> svg("svg", cl::desc("Write a picture of the step"),
                         cl::value_desc("file.svg"), cl::cat(ownCategory));
cl::opt<std::string>
    trace("trace", cl::desc("Write a trace of the step for ui.perfetto.dev"),
          cl::value_desc("file.json"), cl::cat(ownCategory));
cl::opt<bool> asJson("json", cl::desc("Print JSON instead of tables"),
                     cl::cat(ownCategory));
cl::opt<bool>
    grid("grid", cl::desc("Print the order of actions on every device or rank"),
         cl::cat(ownCategory));
cl::opt<bool> criticalPath("critical-path",
                           cl::desc("Print the critical path of the step"),
                           cl::cat(ownCategory));

cl::extrahelp examples(R"(
EXAMPLES:

  pp-opt step.mlir -pipeline-partition="cluster=local:4 microbatches=8" > plan.mlir
  pp-sim plan.mlir                       the fastest order, who is idle
  pp-sim plan.mlir --order=1f1b --svg=step.svg
  pp-sim plan.mlir --order=window --critical-path
  pp-sim plan.mlir --profile=p.json      with measured times (pp-run --profile)

A device's row shows how long it computes, how long it is idle (bubble), the max
number of microbatches in flight on each of its stages, and the max memory they
need. `makespan` is the time from the first start to the last end on any device,
`span` the max over devices of the time from its first start to its last end.

EXAMPLES WITHOUT A MODEL:

  pp-sim --schedule=zb-h1 --ranks=4 --microbatches=8 --grid
  pp-sim --schedule=interleaved --ranks=4 --microbatches=8 --chunks=2 --forward=0.5 --activation=0.5
                                         two stages per rank, each of half size
  pp-sim --schedule=auto --ranks=8 --microbatches=24 --forward=18.522 --input-grad=18.086 --weight-grad=9.337
         --hop=0.601 --memory=12 --objective=span
  pp-sim --schedule=1f1b --ranks=3 --microbatches=6 --forward=1,1,1.5 --hop=0.1,0.2 --csv=orders.csv
  pp-sim --schedule=orders.csv           verify and time PyTorch's CSV

A bubble is (value - m*T) / value, with m*T the work of the busiest rank; `gap`
is value / lower bound - 1. docs/schedules.md explains which schedule to choose.
)");

LogicalResult fail(const Error &error) {
  llvm::errs() << "error: " << error.message << "\n";
  for (const std::string &note : error.notes)
    llvm::errs() << "note: " << note << "\n";
  return failure();
}

LogicalResult readOptions(SimulationOptions &options) {
  options.order = order;
  options.fullDuplex = fullDuplex;
  options.noNic = noNic;
  if (!policy.empty()) {
    Result<LinkSharing> sharing = parseLinkSharing(policy.getValue());
    if (!sharing)
      return fail(Error{"--policy: " + sharing.error().message});
    if (fullDuplex || noNic)
      return fail(Error{"with --policy, flows share NICs in both directions; "
                        "leave out --full-duplex and --no-nic"});
    options.sharing = *sharing;
  }
  options.profile = profile;
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

/// The simulation that both modes report.
struct Shown {
  const PipelineModel &model;
  const PipelineTimeline &timeline;
  const PipelineNames &names;
};

LogicalResult writeSvgFile(const Shown &shown) {
  if (svg.empty())
    return success();
  Status status =
      writeTextFile(svg, drawSvg(shown.model, shown.timeline, shown.names));
  return status ? success() : fail(status.error());
}

LogicalResult writeTraceFile(const Shown &shown) {
  if (trace.empty())
    return success();
  Status status = writeTextFile(
      trace, writeTrace(shown.model, shown.timeline, shown.names));
  return status ? success() : fail(status.error());
}

/// Writes files first: nothing is printed if one cannot be written.
LogicalResult report(const Simulation &simulation) {
  Shown shown{simulation.model, simulation.timeline, simulation.names};
  if (failed(writeSvgFile(shown)) || failed(writeTraceFile(shown)))
    return failure();
  if (svg == "-" || trace == "-") // Nothing else may go to this stream.
    return success();
  std::string text = asJson ? jsonOf(simulation) : tableOf(simulation);
  if (!asJson && simulation.measured)
    text += "\n" + measuredOf(simulation);
  if (grid && !asJson)
    text += "\n" + gridOf(simulation);
  if (criticalPath && !asJson)
    text += "\n" + criticalPathOf(simulation.model, simulation.timeline,
                                  simulation.names);
  if (Status status = writeTextFile("-", text); !status)
    return fail(status.error());
  return success();
}

Result<std::string> csvOf(const PlainSchedule &plain, bool communication) {
  if (!communication)
    return writeTorchCsv(plain.schedule);
  Result<TorchLists> lists = insertTransfers(plain.schedule);
  if (!lists)
    return lists.error();
  return writeTorchCsv(*lists);
}

/// Reports a schedule without a model.
LogicalResult report(const PlainSchedule &plain, const ScheduleFlags &flags) {
  const std::string &csv = flags.csv;
  if (!csv.empty()) {
    Result<std::string> text = csvOf(plain, flags.communication);
    Status status = text ? writeTextFile(csv, *text) : Status(text.error());
    if (!status)
      return fail(status.error());
  } else if (flags.communication) {
    return fail(Error{
        "--communication changes what --csv=FILE writes; add --csv=FILE"});
  }
  TimedPipeline pipeline;
  PipelineNames names = namesOf(plain);
  if (!svg.empty() || !trace.empty() || criticalPath)
    pipeline = timedPipelineOf(plain.schedule, plain.problem, plain.timing);
  Shown shown{pipeline.model, pipeline.timeline, names};
  if (failed(writeTraceFile(shown)))
    return failure();
  // The rows of transfers that take no time would be empty.
  if (llvm::all_of(plain.problem.hops,
                   [](Seconds hop) { return hop == Seconds(); })) {
    pipeline.model.channels.clear();
    pipeline.timeline.channels.clear();
  }
  if (failed(writeSvgFile(shown)))
    return failure();
  if (svg == "-" || trace == "-" || csv == "-")
    return success();
  std::string text = asJson ? jsonOf(plain) : tableOf(plain);
  if (grid && !asJson)
    text += "\n" + gridOf(plain);
  if (criticalPath && !asJson)
    text += "\n" + criticalPathOf(pipeline.model, pipeline.timeline, names);
  if (Status status = writeTextFile("-", text); !status)
    return fail(status.error());
  return success();
}

/// An error for a flag without a value, which would have no effect.
Status refuseEmptyFlags() {
  std::string flag = firstEmptyScheduleFlag();
  for (const cl::opt<std::string> *option :
       {&order, &microbatches, &slowdown, &profile, &policy, &svg, &trace})
    if (option->getNumOccurrences() > 0 && option->empty() && flag.empty())
      flag = "--" + option->ArgStr.str() + "=";
  if (flag.empty())
    return {};
  return Error{flag + " has no value; give one, or leave the flag out"};
}

/// An error if a flag writes its file to standard output, and another flag
/// writes there too.
Status refuseSharedOutput() {
  std::string csv = scheduleFlags().csv;
  std::string taken;
  for (auto [flag, writes] :
       {std::pair("--csv=-", csv == "-"), std::pair("--svg=-", svg == "-"),
        std::pair("--trace=-", trace == "-"), std::pair("--json", bool(asJson)),
        std::pair("--grid", bool(grid)),
        std::pair("--critical-path", bool(criticalPath))}) {
    if (!writes)
      continue;
    if (!taken.empty())
      return Error{taken + " and " + flag +
                   " both write to standard output; name a file in place of "
                   "'-', or leave one of them out"};
    if (std::string_view(flag).ends_with("=-"))
      taken = flag;
  }
  return {};
}

/// An error for a flag of the other mode.
Status refuseMixedFlags() {
  std::string plain = firstScheduleFlag();
  if (scheduleFlags().schedule.empty()) {
    if (plain.empty())
      return {};
    return Error{plain + " is for a schedule without a model; add "
                         "--schedule=NAME, or leave it out to simulate the "
                         "plan of an MLIR file"};
  }
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &order, &fullDuplex, &noNic, &policy, &slowdown, &profile})
    if (option->getNumOccurrences() > 0)
      return Error{"--" + option->ArgStr.str() +
                   " is for the plan of an MLIR file, --schedule needs none; "
                   "leave one of them out"};
  if (input.getNumOccurrences() > 0)
    return Error{"'" + input +
                 "' is not read: --schedule needs no model; leave one of them "
                 "out (--order=schedule simulates the file's schedule)"};
  return {};
}

LogicalResult runSchedule() {
  ScheduleFlags flags = scheduleFlags();
  flags.microbatches = microbatches;
  Result<PlainSchedule> plain = makeSchedule(flags);
  return plain ? report(*plain, flags) : fail(plain.error());
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
    return fail(Error{"'" + input + "' is not an MLIR module"});
  FailureOr<Simulation> simulation = simulateModule(*module, options);
  return failed(simulation) ? failure() : report(*simulation);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg(stagewright::kFaultReport);
  cl::HideUnrelatedOptions({&ownCategory, &scheduleCategory()});
  cl::ParseCommandLineOptions(
      argc, argv,
      "Stagewright: simulates a planned step of a pipeline, or any schedule\n");
  if (listsSchedules()) {
    llvm::outs() << listOfSchedules();
    return 0;
  }
  for (Status (*refuse)() :
       {refuseEmptyFlags, refuseMixedFlags, refuseSharedOutput})
    if (Status status = refuse(); !status)
      return failed(fail(status.error()));
  if (!scheduleFlags().schedule.empty())
    return failed(runSchedule());
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  stagewright::registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  return failed(run(context));
}
