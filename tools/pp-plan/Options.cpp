//===- Options.cpp - the command line of pp-plan --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include <CLI/CLI.hpp>

namespace stagewright {

static constexpr const char *kExamples = R"(Examples:
  pp-plan vgg19.txt --cluster=dapple-a --microbatches=64
      A PipeDream profile on two hosts of eight devices: stages, devices, what
      binds each stage, and how far from the best possible plan this one is.
  pp-plan model.mlir --cluster=local:4 --microbatches=8 --max-replicas=1 --json
      A step from `stagewright import`; layers and costs are found first.
  pp-plan mb16.txt mb32.txt --cluster=lab.json --microbatches=32,16 --explain
      One batch of 512 rows profiled at two microbatch sizes: the better of both,
      and why it won.
  pp-plan gnmt.json --planner=ideal-dp
      The format brings its own devices.
  pp-plan vgg19.txt --cluster=dapple-a --microbatches=64 --plan='[0,19)x15 [19,26)x1'
      What the plan of somebody else takes.
  pp-plan llama.mlir --cluster=h100:8 --microbatches=256 --target=cuda --uniform
      The plan, and below it what every plan with equal stages would take.

Exit status: 0 a plan was found, 1 there is none or a value or an input is
wrong, 2 the command line cannot be read.)";

static void declareInput(CLI::App &app, PlanOptions &options) {
  app.add_option("file", options.files,
                 "What to plan: a module, a profile or - for standard input")
      ->type_name("FILE");
  app.add_option("--format", options.format,
                 "What FILE is; guessed from its name and content if not given")
      ->type_name("mlir|pipedream|dnn-partitioning|piper|chain");
  app.add_option(
         "--cluster", options.cluster,
         "The devices: a preset (--list-clusters) or a file; with ,peak "
         "behind it contractions of every size reach their rate; not needed "
         "if FILE brings its own")
      ->type_name("PRESET|FILE.json");
  app.add_option("--memory", options.memory,
                 "Memory of every device instead of the cluster's, as in 16GiB")
      ->type_name("BYTES");
  app.add_option("--profile", options.profile,
                 "Seconds measured by pp-run --profile, for a module")
      ->type_name("FILE.json");
  app.add_option("--layers", options.layers,
                 "Where the layers of a module come from: auto (the default: "
                 "scopes or modules of parameters, at the level at which the "
                 "model repeats), flow (the places where little data is "
                 "alive), a number of components of a scope, or a pattern "
                 "such as 'transformer/h/*'")
      ->type_name("auto|flow|DEPTH|PATTERN");
  app.add_option("--target", options.target,
                 "What a module is compiled for, as pp-compile takes it: host "
                 "(the default), or cuda, where attention is one kernel")
      ->check([](const std::string &target) {
        return target == "host" || target == "cuda" ||
                       target.starts_with("cuda:")
                   ? std::string()
                   : "'" + target + "' is not host, cuda or cuda:ARCHITECTURES";
      })
      ->type_name("host|cuda");
  app.add_option(
         "--microbatches", options.microbatches,
         "Microbatches of a step. With several FILEs, which are the same "
         "batch profiled at several microbatch sizes, one number for "
         "each; a profile is never rescaled")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("M,M");
  app.add_option("--samples", options.samples,
                 "Rows of a microbatch: slices of replicas are whole rows")
      ->type_name("N");
}

/// A flag without a value that sets `target` to `value`.
static void declareSwitch(CLI::App &app, const char *name, bool &target,
                          bool value, const char *group, const char *help) {
  app.add_flag_callback(
         name, [&target, value] { target = value; }, help)
      ->group(group);
}

static void declareOffload(CLI::App &app, PlanOptions &options,
                           const char *group) {
  app.add_option(
         "--offload", options.offload,
         "Whether what forwards keep waits for the backward in the memory of "
         "the host, of devices whose cluster states host_bandwidth: auto, "
         "where a stage does not fit and copying costs less time than "
         "computing again; none; all, wherever it saves memory of the device")
      ->type_name("auto|none|all")
      ->group(group);
}

static void declareSearch(CLI::App &app, PlanOptions &options) {
  const char *group = "What is searched";
  app.add_option(
         "--planner", options.planner,
         "Algorithm (--list-planners); without it auto for a module, spp for a "
         "profile; refine:NAME improves what NAME finds")
      ->type_name("NAME")
      ->group(group);
  app.add_option(
         "--plan", options.plan,
         "Take these stages instead of searching: what --json wrote, or "
         "ranges of layers with their replicas")
      ->type_name("FILE.json|'[0,19)x15 [19,26)x1'")
      ->group(group);
  app.add_option("--stages", options.stages,
                 "Number of stages; without it, what is best")
      ->type_name("S")
      ->group(group);
  app.add_option("--schedule", options.schedule,
                 "Plan for this schedule, as pp-compile takes it; auto, the "
                 "default: the fastest")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--chunks", options.chunks,
                 "Stages of each device; without it, what is best")
      ->type_name("V")
      ->group(group);
  app.add_option("--placement", options.placement,
                 "Which device holds which stages; without it, what is best")
      ->type_name("linear|loop|v|twin")
      ->group(group);
  app.add_option("--max-replicas", options.maxReplicas,
                 "Most devices of one stage; 0, the default: no limit")
      ->type_name("R")
      ->group(group);
  app.add_option(
         "--orders", options.orders,
         "Execution orders to choose from: window, greedy, cap-a, cap-b, "
         "gpipe, 1f1b; without it, all, and of a module those that compile: "
         "window, cap-b, gpipe, 1f1b")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,NAME")
      ->group(group);
  declareSwitch(app, "--no-recompute", options.recompute, false, group,
                "No stage short of memory may run its forward twice, nor its "
                "layers compute again what they do not keep");
  app.add_option("--recompute-level", options.recomputeLevel,
                 "How much every layer of a module computes again instead of "
                 "keeping it, 0 nothing; without it, what the devices need")
      ->type_name("LEVEL")
      ->group(group);
  declareOffload(app, options, group);
}

static void declareModel(CLI::App &app, PlanOptions &options) {
  const char *group = "What a step costs";
  CostModel &model = options.model;
  declareSwitch(app, "--no-overlap", model.overlapAllReduce, false, group,
                "All-reduces wait for the last backward of their stage");
  declareSwitch(app, "--full-duplex", model.halfDuplex, false, group,
                "A channel carries a transfer each way at a time");
  declareSwitch(app, "--no-nic", model.sharedNics, false, group,
                "Channels of one host do not share its NIC");
  declareSwitch(app, "--equal-slices", model.unevenSlices, false, group,
                "Replicas of unequal speed get equal slices");
  declareSwitch(app, "--direct-skips", model.directSkips, true, group,
                "What a later stage needs goes there directly (the default)");
  declareSwitch(app, "--no-direct-skips", model.directSkips, false, group,
                "It goes through every stage on its way");
  app.add_option("--optimizer-state", model.optimizerState,
                 "Bytes of optimizer state for each byte of parameters "
                 "(default: those of the step's optimizer, if it has one)")
      ->type_name("X")
      ->group(group);
}

static void declareOutput(CLI::App &app, PlanOptions &options) {
  const char *group = "What is written";
  app.add_flag("--json", options.json, "The plan as JSON instead of a table")
      ->group(group);
  app.add_flag("--explain", options.explain,
               "The runner-up and why it lost, below the table")
      ->group(group);
  app.add_flag("--uniform", options.uniform,
               "What plans by hand would take, by the same clock: every number "
               "of replicas, devices of a pipeline and chunks that uses all "
               "devices, with all layers at one level")
      ->group(group);
  app.add_option("-o", options.output, "Where the plan goes instead of stdout")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--svg", options.svg, "A picture of the simulated step")
      ->type_name("FILE.svg")
      ->group(group);
  app.add_option("--trace", options.trace,
                 "The simulated step for ui.perfetto.dev")
      ->type_name("FILE.json")
      ->group(group);
  app.add_flag("--list-clusters", options.listClusters,
               "The presets of --cluster, and stop")
      ->group(group);
  app.add_flag("--list-planners", options.listPlanners,
               "The algorithms of --planner, and stop")
      ->group(group);
}

void declareOptions(CLI::App &app, PlanOptions &options) {
  app.footer(kExamples);
  declareInput(app, options);
  declareSearch(app, options);
  declareModel(app, options);
  declareOutput(app, options);
}

/// A number that must be at least `least`; 0 means that none is given.
static Status applyCount(const char *option, std::optional<int64_t> given,
                         int64_t &number, int64_t least = 1) {
  if (!given)
    return {};
  if (*given < least)
    return Error{std::string(option) + " must be at least " +
                 std::to_string(least) + ", got " + std::to_string(*given)};
  number = *given;
  return {};
}

/// The orders by name, each once.
static Status applyOrders(const std::vector<std::string> &names,
                          std::vector<ExecutionOrder> &orders) {
  if (names.empty())
    return {};
  orders.clear();
  for (const std::string &name : names) {
    Result<ExecutionOrder> order = parseExecutionOrder(name);
    if (!order)
      return order.error();
    if (std::find(orders.begin(), orders.end(), *order) == orders.end())
      orders.push_back(*order);
  }
  return {};
}

Status applyOptions(const PlanOptions &options, size_t file, Problem &problem) {
  if (!options.microbatches.empty())
    problem.microbatches = options.microbatches[file];
  problem.recompute = options.recompute;
  if (Status status = applyCount("--recompute-level", options.recomputeLevel,
                                 problem.level, /*least=*/0);
      !status)
    return status;
  Result<OffloadChoice> offload = parseOffloadChoice(options.offload);
  if (!offload)
    return Error{"--" + offload.error().message};
  problem.offload = *offload;
  double state = problem.model.optimizerState; // Of a step with an optimizer.
  problem.model = options.model;
  if (options.model.optimizerState == 0)
    problem.model.optimizerState = state;
  if (Status status = applyCount("--stages", options.stages, problem.stages);
      !status)
    return status;
  if (Status status = applyCount("--max-replicas", options.maxReplicas,
                                 problem.maxReplicas, /*least=*/0);
      !status)
    return status;
  if (Status status = applyCount("--samples", options.samples, problem.samples);
      !status)
    return status;
  if (Status status = applyOrders(options.orders, problem.orders); !status)
    return status;
  if (options.memory.empty())
    return {};
  Result<Bytes> memory = parseBytes(options.memory);
  if (!memory)
    return memory.error();
  for (Device &device : problem.cluster.devices)
    device.memory = *memory;
  return {};
}

} // namespace stagewright
