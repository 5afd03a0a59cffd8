//===- PlanFlags.cpp - flags that choose stages and their order -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagGroups.h"
#include "stagewright/Support/Files.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace stagewright;
namespace cl = llvm::cl;

namespace {
cl::opt<std::string> cluster(
    "cluster",
    cl::desc("Devices: local:N, another preset or a cluster file. Append ,peak "
             "to assume the peak rate for contractions of every size"),
    cl::cat(category()));
cl::opt<std::string> stages("stages", cl::desc("Number of stages"),
                            cl::cat(category()));
cl::opt<std::string> microbatches("microbatches",
                                  cl::desc("Microbatches per step"),
                                  cl::cat(category()));
cl::opt<std::string> memory("memory", cl::desc("Memory limit per device"),
                            cl::cat(category()));
cl::opt<std::string>
    planner("planner",
            cl::desc("Planner (default: auto), see pp-plan --list-planners"),
            cl::cat(category()));
cl::opt<std::string>
    maxReplicas("max-replicas",
                cl::desc("Max devices per stage. They split every microbatch "
                         "or take microbatches in turn. 0 (default): no limit"),
                cl::cat(category()));
cl::opt<std::string> plan(
    "plan",
    cl::desc(
        "Use these stages and replicas instead of planning: ranges of layers, "
        "such as \"[0,3)x2:3+1 [3,6)x1\", or a FILE.json written by pp-plan "
        "--json. After the colon: the samples of each replica (default: by its "
        "speed)"),
    cl::cat(category()));
cl::opt<std::string> annotate(
    "annotate",
    cl::desc("How layers are placed, by the names of their parameters or of "
             "the modules that hold them: a file with lines such as "
             "'h/*/mlp=split(2)' or 'encoder=replicate(4)', or the text "
             "itself. A JAX model can contain the same annotations, such as "
             "stagewright.split(2)"),
    cl::value_desc("file"), cl::cat(category()));
cl::opt<std::string> schedule(
    "schedule",
    cl::desc("Schedule, such as gpipe, 1f1b or zb-h1. plan (default): the one "
             "that the planner finds fastest; auto: search for the fastest "
             "order for the plan; FILE.csv: a schedule in PyTorch's format"),
    cl::init("plan"), cl::cat(category()));
cl::opt<std::string> objective(
    "objective",
    cl::desc("What --schedule=auto minimises: makespan (default) or span"),
    cl::cat(category()));
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
    cl::init(Execution::Ordered), cl::cat(category()));
cl::opt<std::string> spareCredits(
    "spare-credits",
    cl::desc("With --execution=ready: additional microbatches in flight per "
             "stage, beyond those needed if actions take as long as planned, "
             "so that a late stage does not stop the others (default: 0)"),
    cl::value_desc("credits"), cl::cat(category()));
cl::opt<std::string>
    policy("policy",
           cl::desc("Policy by which transfers between hosts share NICs: oes, "
                    "guaranteed, fair or fifo. Computes a bound on the "
                    "time of a step under this policy, and stores in the "
                    "artifact the rate guaranteed to each transfer, for pp-run "
                    "--pace=sends"),
           cl::cat(category()));
cl::opt<std::string>
    chunks("chunks",
           cl::desc("Stages per device (default: what the schedule needs)"),
           cl::cat(category()));
cl::opt<std::string>
    placement("placement",
              cl::desc("Which device holds which stages: linear, loop, v or "
                       "twin (default: what the schedule needs)"),
              cl::cat(category()));
cl::opt<std::string> layers(
    "layers",
    cl::desc("How to find layers. auto (default): scopes or modules of "
             "parameters, at the level at which the model repeats; flow: cut "
             "where little data is live; a number N: the first N components of "
             "a scope; or a pattern such as 'transformer/h/*'"),
    cl::value_desc("auto|flow|depth|pattern"), cl::cat(category()));
cl::opt<std::string> profile("profile",
                             cl::desc("Costs measured by pp-run --profile"),
                             cl::cat(category()));

} // namespace

/// If `plan` is the name of a JSON file, replaces it by the contents.
static LogicalResult readPlan(std::string &plan) {
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

LogicalResult readPlanFlags(CompileOptions &options) {
  options.cluster = cluster;
  options.memory = memory;
  options.planner = planner;
  options.annotate = annotate;
  options.plan = plan;
  options.schedule = schedule;
  options.placement = placement;
  options.objective = objective;
  options.execution = execution;
  options.policy = policy;
  options.profile = profile;
  options.layers = layers;
  return success(succeeded(readPlan(options.plan)) &&
                 succeeded(readNumber(stages, options.stages)) &&
                 succeeded(readNumber(chunks, options.chunks)) &&
                 succeeded(readNumber(maxReplicas, options.maxReplicas, 0)) &&
                 succeeded(readNumber(spareCredits, options.spareCredits, 0)) &&
                 succeeded(readNumber(microbatches, options.microbatches)));
}
