//===- PlanOptions.cpp - the command line of pp-plan ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanOptions.h"

#include "stagewright/Planning/Search.h"
#include "stagewright/Support/ParseNumber.h"

#include <CLI/CLI.hpp>

namespace stagewright {

static constexpr const char *kExamples = R"(Examples:
  pp-plan vgg19.txt --cluster=dapple-a --microbatches=64
      A PipeDream profile on two hosts of eight devices: stages, devices, the
      bottleneck of each stage, and the gap to the best possible plan.
  pp-plan model.mlir --cluster=local:4 --microbatches=8 --max-replicas=1 --json
      A step from `stagewright import`; layers and costs are computed first.
  pp-plan mb16.txt mb32.txt --cluster=lab.json --microbatches=32,16 --explain
      One batch of 512 rows profiled at two microbatch sizes: the better one,
      and why it won.
  pp-plan gnmt.json --planner=ideal-dp
      This format has its own devices.
  pp-plan vgg19.txt --cluster=dapple-a --microbatches=64 --plan='[0,19)x15 [19,26)x1'
      The time of a given plan.
  pp-plan llama.mlir --cluster=h100:8 --microbatches=256 --target=cuda --uniform
      The plan, and below it the time of every plan with equal stages.
  pp-plan vgg19.txt --cluster=dapple-a --microbatches=64 --search=dp,q,anneal --search-svg=search.svg
      Three searches of the plans of contiguous stages, and how fast each was.
  pp-plan products.json --planner=explore --policy=oes --evals=2000
      Samplers, workers and servers of a dataflow on machines, with a bound on
      the time of its iterations.

Exit status: 0: a plan was found; 1: there is none, or a value or an input is
wrong; 2: the command line cannot be parsed, or options contradict each other.)";

static void declareInput(CLI::App &app, PlanOptions &options) {
  app.add_option("file", options.files,
                 "Input: a module, a profile or - for standard input")
      ->type_name("FILE");
  app.add_option("--format", options.format,
                 "Format of FILE (default: guessed from its name and content)")
      ->type_name("mlir|pipedream|dnn-partitioning|piper|chain|dataflow");
  app.add_option("--cluster", options.cluster,
                 "Devices: a preset (--list-clusters) or a file. Append ,peak "
                 "to assume the peak rate for contractions of every size. Not "
                 "needed if FILE has its own")
      ->type_name("PRESET|FILE.json");
  app.add_option("--memory", options.memory,
                 "Memory per device, such as 16GiB (default: the cluster's)")
      ->type_name("BYTES");
  app.add_option("--profile", options.profile,
                 "Times measured by pp-run --profile, for a module")
      ->type_name("FILE.json");
  app.add_option(
         "--layers", options.layers,
         "How to find the layers of a module. auto (default): scopes or "
         "modules of parameters, at the level at which the model repeats; "
         "flow: cut where little data is live; DEPTH: the first DEPTH "
         "components of a scope; or a pattern such as 'transformer/h/*'")
      ->type_name("auto|flow|DEPTH|PATTERN");
  app.add_option("--annotate", options.annotate,
                 "How layers of a module are placed, by the names of their "
                 "parameters: lines such as h/*/mlp=split(2) or "
                 "encoder=replicate(4), as for pp-compile")
      ->type_name("FILE");
  app.add_option("--target", options.target,
                 "Target of a module, as in pp-compile: host (default), or "
                 "cuda, where large attention is one kernel")
      ->check([](const std::string &target) {
        return target == "host" || target == "cuda" ||
                       target.starts_with("cuda:")
                   ? std::string()
                   : "'" + target + "' is not host, cuda or cuda:ARCHITECTURES";
      })
      ->type_name("host|cuda");
  app.add_option("--microbatches", options.microbatches,
                 "Microbatches per step. If several FILEs profile the same "
                 "batch at different microbatch sizes, one number for each; "
                 "profiles are never rescaled")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("M,M");
  app.add_option("--samples", options.samples,
                 "Rows per microbatch; replicas get whole rows")
      ->type_name("N");
}

/// Declares a flag without a value, which sets `target` to `value`.
static void declareSwitch(CLI::App &app, const char *name, bool &target,
                          bool value, const char *group, const char *help) {
  app.add_flag_callback(
         name, [&target, value] { target = value; }, help)
      ->group(group);
}

static void declareOffload(CLI::App &app, PlanOptions &options,
                           const char *group) {
  app.add_option("--offload", options.offload,
                 "Whether to offload what forwards keep for backwards to host "
                 "memory, on clusters with host_bandwidth. auto: if a stage "
                 "does not fit and copying is faster than recomputing; none; "
                 "all: wherever it saves device memory")
      ->type_name("auto|none|all")
      ->group(group);
}

static void declareSearch(CLI::App &app, PlanOptions &options) {
  const char *group = "Search";
  app.add_option("--planner", options.planner,
                 "Algorithm (--list-planners; default: auto for a module, spp "
                 "for a profile). refine:NAME improves the plan of NAME. For "
                 "a dataflow: explore (default), colocate, spread or fixed")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--plan", options.plan,
                 "Use these stages instead of searching: a file written by "
                 "--json, or ranges of layers with their replicas")
      ->type_name("FILE.json|'[0,19)x15 [19,26)x1'")
      ->group(group);
  app.add_option("--stages", options.stages,
                 "Number of stages (default: the best)")
      ->type_name("S")
      ->group(group);
  app.add_option("--schedule", options.schedule,
                 "Plan for this schedule, as in pp-compile. auto (default): "
                 "the fastest")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--chunks", options.chunks,
                 "Stages per device (default: the best)")
      ->type_name("V")
      ->group(group);
  app.add_option("--placement", options.placement,
                 "Which device holds which stages (default: the best)")
      ->type_name("linear|loop|v|twin")
      ->group(group);
  app.add_option("--max-replicas", options.maxReplicas,
                 "Max devices per stage. 0 (default): no limit")
      ->type_name("R")
      ->group(group);
  app.add_option("--tensor-parallel", options.tensorParallel,
                 "Split every layer of a module over N devices, as in "
                 "pp-compile. auto: over as many as give the fastest step, or "
                 "none. A device of the table is then a gang of N")
      ->check([&options](const std::string &text) {
        PlanOptions asked = options;
        asked.tensorParallel = text;
        return text == "auto" || asked.shards()
                   ? std::string()
                   : "'" + text +
                         "' is neither auto nor a number of shards, "
                         "2 or more";
      })
      ->type_name("auto|N")
      ->group(group);
  app.add_option("--shard", options.shardHints,
                 "What --tensor-parallel splits, as in pp-compile (default: "
                 "chosen by cost)")
      ->type_name("GLOB=DIM,...")
      ->group(group);
  declareSwitch(
      app, "--recompute-layers", options.repeatsLayers, true, group,
      "With --tensor-parallel: backwards may repeat the whole forwards of "
      "layers, messages between the shards included, so that only the inputs "
      "of layers are kept");
  app.add_option("--orders", options.orders,
                 "Execution orders to choose from: window, greedy, cap-a, "
                 "early-backward, gpipe, 1f1b (default: all; for a module "
                 "those that compile: all but greedy and cap-a)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,NAME")
      ->group(group);
  declareSwitch(
      app, "--no-recompute", options.recompute, false, group,
      "Do not recompute forwards, or parts of layers, to save memory");
  app.add_option("--recompute-level", options.recomputeLevel,
                 "How much every layer of a module recomputes instead of "
                 "keeping it. 0: only cheap work. Default: what fits in memory")
      ->type_name("LEVEL")
      ->group(group);
  declareOffload(app, options, group);
}

static void declareDrivers(CLI::App &app, PlanOptions &options) {
  const char *group = "Search by drivers";
  std::string drivers;
  for (const SearchDriver &driver : allSearchDrivers())
    drivers += (drivers.empty() ? "" : "; ") + std::string(driver.name) + ": " +
               driver.summary;
  app.add_option("--search", options.searches,
                 "Search the plans of contiguous stages by one driver, or by "
                 "several one after the other, instead of by --planner. " +
                     drivers)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name(searchDriverNames("|"))
      ->group(group);
  app.add_option("--evals", options.evaluations,
                 "Max plans that each driver evaluates (default: " +
                     std::to_string(kUsualEvaluations) + "; exhaustive: all)")
      ->type_name("N")
      ->group(group);
  app.add_option("--start", options.searchStart,
                 "Start from the plan of this planner, if its stages are "
                 "contiguous and on devices of their own, so that no search "
                 "ends with a slower one. spp (default); none: start from "
                 "stages of about equal work")
      ->type_name("PLANNER|none")
      ->group(group);
  app.add_option("--seconds", options.seconds,
                 "Max seconds of each driver, after --start (default: no "
                 "limit). How many plans that allows depends on the machine, "
                 "and with it the result")
      ->type_name("T")
      ->group(group);
  app.add_option("--seed", options.seed,
                 "Seed of the random numbers of q, anneal and random "
                 "(default: 1)")
      ->type_name("N")
      ->group(group);
  app.add_option("--beta", options.beta,
                 "Constant inverse temperature of anneal (default: the "
                 "temperature falls)")
      ->type_name("X")
      ->group(group);
  app.add_option("--search-log", options.searchLog,
                 "Write every evaluated plan to a file. If it exists, the "
                 "search goes on where it ended")
      ->type_name("FILE.jsonl")
      ->group(group);
  app.add_option("--search-svg", options.searchSvg,
                 "Write a picture of the best time after each number of "
                 "evaluated plans")
      ->type_name("FILE.svg")
      ->group(group);
}

static void declareModel(CLI::App &app, PlanOptions &options) {
  const char *group = "Cost model";
  app.add_option("--policy", options.policy,
                 "How the transfers of a dataflow share NICs. oes (default): "
                 "guaranteed rates, and the remaining bandwidth by max-min "
                 "water-filling; guaranteed: guaranteed rates only; fair: "
                 "max-min; fifo: the first takes all")
      ->type_name("oes|guaranteed|fair|fifo")
      ->group(group);
  CostModel &model = options.model;
  declareSwitch(app, "--no-overlap", model.overlapAllReduce, false, group,
                "All-reduces start after the last backward of their stage");
  declareSwitch(app, "--full-duplex", model.halfDuplex, false, group,
                "Channels carry transfers in both directions at once");
  declareSwitch(app, "--no-nic", model.sharedNics, false, group,
                "Channels of a host do not share its NIC");
  declareSwitch(app, "--equal-slices", model.unevenSlices, false, group,
                "Replicas of unequal speed get equal slices");
  declareSwitch(app, "--direct-skips", model.directSkips, true, group,
                "Send values directly to the stage that uses them (default)");
  declareSwitch(app, "--no-direct-skips", model.directSkips, false, group,
                "Send such values through every stage in between");
  app.add_option("--optimizer-state", model.optimizerState,
                 "Bytes of optimizer state per byte of parameters (default: "
                 "those of the step's optimizer, if it has one)")
      ->type_name("X")
      ->group(group);
}

static void declareOutput(CLI::App &app, PlanOptions &options) {
  const char *group = "Output";
  app.add_flag("--json", options.json,
               "Print the plan as JSON instead of a table")
      ->group(group);
  app.add_flag("--explain", options.explain,
               "Also print the runners-up and why they lost")
      ->group(group);
  app.add_flag("--explain-layouts", options.explainLayouts,
               "Instead of a plan, print which dimensions of a module can be "
               "split over the devices of --tensor-parallel=N (default: 2), "
               "those that are split together as one class, and which "
               "operation prevents a split")
      ->group(group);
  app.add_flag("--uniform", options.uniform,
               "Also print the times of uniform plans: every number of "
               "replicas, devices per pipeline and chunks that uses all "
               "devices, with all layers at one recompute level")
      ->group(group);
  app.add_option("-o", options.output, "Output file (default: stdout)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--svg", options.svg, "Write a picture of the simulated step")
      ->type_name("FILE.svg")
      ->group(group);
  app.add_option("--trace", options.trace,
                 "Write a trace of the simulated step for ui.perfetto.dev")
      ->type_name("FILE.json")
      ->group(group);
  app.add_flag("--list-clusters", options.listClusters,
               "List the presets of --cluster and exit")
      ->group(group);
  app.add_flag("--list-planners", options.listPlanners,
               "List the algorithms of --planner and exit")
      ->group(group);
}

void declareOptions(CLI::App &app, PlanOptions &options) {
  app.footer(kExamples);
  declareInput(app, options);
  declareSearch(app, options);
  declareDrivers(app, options);
  declareModel(app, options);
  declareOutput(app, options);
}

std::optional<int64_t> PlanOptions::shards() const {
  std::optional<int64_t> number = parseNumber(tensorParallel);
  return number && *number >= 2 ? number : std::nullopt;
}

/// Sets `number` to an option's value, which must be at least `min`; keeps it
/// if the option is not given.
static Status applyCount(const char *option, std::optional<int64_t> given,
                         int64_t &number, int64_t min = 1) {
  if (!given)
    return {};
  if (*given < min)
    return Error{std::string(option) + " must be at least " +
                 std::to_string(min) + ", got " + std::to_string(*given)};
  number = *given;
  return {};
}

/// Parses the names of orders, without duplicates.
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
                                 problem.level, /*min=*/0);
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
                                 problem.maxReplicas, /*min=*/0);
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
