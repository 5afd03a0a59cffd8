//===- pp-plan.cpp - plans stages, replicas and placement -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a plan from any input. The algorithms are the functions of
// Planning/Planners.h, which pipeline-partition also runs, as part of a
// compilation.
//
//===----------------------------------------------------------------------===//

#include "Dataflows.h"
#include "Input.h"
#include "Picture.h"
#include "Searches.h"

#include "stagewright/InitAllPasses.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Planning/Request.h"
#include "stagewright/Support/Files.h"
#include "stagewright/Support/Infinity.h"

#include <CLI/CLI.hpp>

#include <future>
#include <iostream>
#include <set>

using namespace stagewright;

namespace {

void list(const std::string &name, const std::string &summary, size_t width) {
  std::cout << name << std::string(width - name.size() + 2, ' ') << summary
            << "\n";
}

int printLists(const PlanOptions &options) {
  size_t width = 0;
  if (options.listClusters) {
    for (const ClusterPreset &preset : clusterPresets())
      width = std::max(width, preset.name.size());
    for (const ClusterPreset &preset : clusterPresets())
      list(preset.name, preset.summary, width);
    return 0;
  }
  for (const Planner &planner : allPlanners())
    width = std::max(width, std::string(planner.name).size());
  for (const Planner &planner : allPlanners())
    list(planner.name, planner.summary, width);
  return 0;
}

/// The fixed plan: ranges of layers are used as given, anything else is the
/// name of a file.
Result<std::string> readFixedPlan(const PlanOptions &options) {
  if (options.plan.empty() || options.plan.front() == '[')
    return options.plan;
  return readTextFile(options.plan);
}

Result<Planned> planProblem(const PlanOptions &options, Problem problem,
                            const PlanRequest &request) {
  Result<Planned> planned = Error{};
  if (!options.searches.empty()) {
    planned = planSearches(options, std::move(problem));
  } else {
    Result<Plan> plan = makePlan(problem, request);
    planned =
        plan
            ? Result<Planned>(Planned{std::move(problem), std::move(*plan), {}})
            : plan.error();
  }
  if (!planned)
    return planned;
  if (options.uniform) {
    Result<std::vector<UniformPlan>> uniform = uniformPlans(planned->problem);
    if (!uniform)
      return uniform.error();
    planned->uniform = std::move(*uniform);
  }
  return planned;
}

/// Whether the planner may choose schedules that run I and W apart, as
/// pp-compile does.
bool choosesHalves(const PlanOptions &options, const Problem &problem,
                   const PlanRequest &request) {
  return problem.wholeBackward && options.plan.empty() &&
         options.searches.empty() && !options.stages && !options.chunks &&
         request.placement.empty() && request.schedule == "auto" &&
         (request.planner == "auto" || request.planner == "placed");
}

/// The better plan of `whole` and of `apart`, whose backwards are split.
Result<Planned> planWhole(const PlanOptions &options, Problem whole,
                          std::optional<Problem> apart, PlanRequest request) {
  PlanRequest placed = request;
  placed.planner = "placed";
  std::future<Result<Planned>> other;
  if (apart)
    other = std::async(std::launch::async, planProblem, std::cref(options),
                       std::move(*apart), std::cref(placed));
  Result<Planned> one = planProblem(options, std::move(whole), request);
  if (!other.valid())
    return one;
  Result<Planned> halves = other.get();
  if (!halves || !one)
    return halves ? halves : one;
  bool isBetter = savesEnough(halves->plan.time, one->plan.time);
  Planned &best = isBetter ? *halves : *one, &rest = isBetter ? *one : *halves;
  best.plan.familyBound = // Valid for both kinds of plans.
      std::min(best.plan.familyBound, rest.plan.familyBound);
  for (UniformPlan &it : rest.uniform)
    best.uniform.push_back(std::move(it));
  sortByTime(best.uniform);
  return best;
}

/// Reads whole layers. `isBounded`: with their bound.
Result<ReadLayers> readWhole(const PlanOptions &options, size_t number,
                             const std::string &fixed, bool isBounded,
                             llvm::raw_ostream &messages) {
  InputReader reader(options, number, /*ways=*/1, messages);
  Result<Input> input = reader.read(splitsBackward(fixed));
  if (!input)
    return input.error();
  Problem &problem = input->problem;
  problem.fixedPlan = fixed;
  PlanRequest request = {options.planner, options.schedule,
                         options.chunks.value_or(0), options.placement};
  if (request.planner.empty())
    request.planner =
        input->isModule && options.orders.empty() ? "auto" : "spp";
  std::optional<Problem> apart;
  Seconds bound = isBounded ? workLowerBound(problem) : Seconds();
  if (choosesHalves(options, problem, request))
    if (Result<Input> halves = reader.read(/*halves=*/true)) {
      apart = std::move(halves->problem);
      if (isBounded && request.planner == "auto")
        bound = formsLowerBound(problem, *apart);
    }
  ReadLayers layers{bound, {}};
  request.isBrief = isBounded && fixed.empty() && request.planner == "auto" &&
                    request.schedule == "auto" && request.chunks == 0;
  if (request.isBrief)
    layers.why = [problem] {
      return runPlanner(problem,
                        [](const Problem &asked) -> Result<Plan> {
                          return whyNoPlan(asked);
                        })
          .error();
    };
  // A bound on plans of all kinds, including those of which no plan is found or
  // chosen.
  Seconds all = apart && isBounded ? bound : Seconds(kInfinity);
  layers.plan = [&options, problem, apart, request,
                 all](Seconds) -> Result<std::optional<Planned>> {
    Result<Planned> best = planWhole(options, problem, apart, request);
    if (!best)
      return best.error();
    best->plan.familyBound = std::min(best->plan.familyBound, all);
    return std::optional(std::move(*best));
  };
  return layers;
}

Result<Planned> planFile(const PlanOptions &options, size_t number) {
  Result<std::string> fixed = readFixedPlan(options);
  if (!fixed)
    return fixed.error();
  Result<int64_t> annotated = annotatedShards(options, number);
  if (!annotated)
    return annotated.error();
  PlanOptions own = options;
  if (*annotated > 1 && !options.searches.empty())
    return Error{"'" + options.files[number] + "' has annotations split(" +
                 std::to_string(*annotated) +
                 "), and --search plans whole layers; leave out one of them"};
  if (*annotated > 1)
    own.tensorParallel = std::to_string(*annotated);
  bool isSharded = !own.tensorParallel.empty();
  auto whole = [&](llvm::raw_ostream &messages) {
    return readWhole(own, number, *fixed, isSharded, messages);
  };
  if (isSharded)
    return planShards(own, number, *fixed, whole);
  Result<ReadLayers> layers = whole(llvm::errs());
  return layers ? planAlone(*layers) : layers.error();
}

/// The best plan of all files; files without a plan are skipped.
Result<Planned> planBest(const PlanOptions &options) {
  Result<Planned> best = Error{};
  size_t bestFile = 0;
  std::vector<std::string> outcomes;
  for (size_t i = 0; i < options.files.size(); ++i) {
    Result<Planned> planned = planFile(options, i);
    // An only input must have a plan; of several inputs, one must.
    if (!planned && options.files.size() == 1)
      return planned;
    outcomes.push_back(
        options.files[i] + ": " +
        (planned ? toString(planned->plan.time) + " with " +
                       std::to_string(planned->problem.microbatches) +
                       " microbatches"
                 : planned.error().message));
    if (planned && (!best || planned->plan.time < best->plan.time)) {
      best = std::move(planned);
      bestFile = i;
    }
  }
  if (!best)
    return Error{"no input has a plan", outcomes};
  if (options.files.size() > 1) {
    std::vector<std::string> &lines = best->plan.explanation;
    lines.insert(lines.begin(), "best input is " + options.files[bestFile]);
    lines.insert(lines.begin() + 1, outcomes.begin(), outcomes.end());
  }
  return best;
}

/// Checks options where CLI11 cannot express the rule.
Status checkOptions(const PlanOptions &options) {
  if (options.files.empty())
    return Error{"no input; give a file, or --help"};
  if (!options.microbatches.empty() &&
      options.microbatches.size() != options.files.size())
    return Error{std::to_string(options.files.size()) +
                 " inputs need as many numbers of microbatches, got " +
                 std::to_string(options.microbatches.size())};
  if (!options.plan.empty() && !options.planner.empty() &&
      options.planner.find("fixed") == std::string::npos)
    return Error{"--plan gives the stages and --planner=" + options.planner +
                 " searches for them; give one of the two, or "
                 "--planner=refine:fixed"};
  if (!options.tensorParallel.empty() && !options.planner.empty())
    return Error{"--tensor-parallel has a planner of its own; leave out "
                 "--planner=" +
                 options.planner};
  if (!options.tensorParallel.empty() &&
      (!options.placement.empty() || !options.orders.empty()))
    return Error{"--tensor-parallel places stages around the devices, in the "
                 "order of a schedule; leave out --placement and --orders"};
  if (options.tensorParallel.empty() && !options.shardHints.empty())
    return Error{"--shard states what --tensor-parallel splits; give that too, "
                 "such as --tensor-parallel=2"};
  if (options.explainLayouts && options.tensorParallel == "auto")
    return Error{
        "--explain-layouts is for one number of devices; give it, such "
        "as --tensor-parallel=4"};
  if (options.explainLayouts && !options.shardHints.empty())
    return Error{"--explain-layouts lists what --shard can split; leave out "
                 "--shard"};
  if (options.explainLayouts &&
      (options.json || !options.svg.empty() || !options.trace.empty() ||
       !options.planner.empty() || !options.searches.empty() ||
       !options.plan.empty() || options.stages))
    return Error{"--explain-layouts prints text and makes no plan; leave out "
                 "--json, --svg, --trace, --planner, --search, --plan and "
                 "--stages"};
  if (options.tensorParallel.empty() && options.repeatsLayers)
    return Error{
        "--recompute-layers is about layers that are split over shards; "
        "give --tensor-parallel too"};
  if (options.tensorParallel == "auto" && !options.plan.empty())
    return Error{"--plan is a plan for one number of shards; give it with "
                 "--tensor-parallel=N"};
  if (Status status = checkSearches(options); !status)
    return status;
  std::set<std::string> taken;
  std::string output = options.output.empty() ? "-" : options.output;
  for (const std::string &file : {output, options.svg, options.trace,
                                  options.searchLog, options.searchSvg})
    if (!file.empty() && !taken.insert(file).second)
      return Error{"two outputs go to '" + file + "'; give each its own file"};
  return {};
}

int fail(const Error &error, int status = 1) {
  std::cerr << "pp-plan: error: " << error.message << "\n";
  for (const std::string &note : error.notes)
    std::cerr << "pp-plan: note: " << note << "\n";
  return status;
}

/// Prints the texts of --explain-layouts.
int explainAll(const PlanOptions &options) {
  std::string all;
  for (size_t i = 0; i < options.files.size(); ++i) {
    Result<std::string> text = explainLayouts(options, i);
    if (!text)
      return fail(text.error());
    all += (i > 0 ? "\n" : "") + *text;
  }
  Status status = writeTextFile(options.output, all);
  return status ? 0 : fail(status.error());
}

int run(const PlanOptions &options) {
  Result<bool> dataflow = isDataflow(options);
  if (!dataflow)
    return fail(dataflow.error());
  if (*dataflow) {
    Status status = placeDataflow(options);
    return status ? 0 : fail(status.error());
  }
  Result<Planned> best = planBest(options);
  if (!best)
    return fail(best.error());
  const auto &[problem, plan, uniform, searches] = *best;
  if (Status status = writePictures(problem, plan, options.svg, options.trace);
      !status)
    return fail(status.error());
  if (!options.searchSvg.empty())
    if (Status status = writeTextFile(options.searchSvg,
                                      drawSearch(searches, plan.familyBound));
        !status)
      return fail(status.error());
  std::string text = options.json ? planToJson(problem, plan, uniform, searches)
                                  : planTable(problem, plan, options.explain);
  if (!searches.empty() && !options.json)
    text += "\n" + searchTable(*best);
  if (options.uniform && !options.json)
    text += "\n" + uniformTable(problem, uniform, plan.time);
  Status status = writeTextFile(options.output, text);
  return status ? 0 : fail(status.error());
}

} // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): from streams, or out of memory
int main(int argc, char **argv) {
  CLI::App app("Partitions a model into stages for a cluster, chooses replicas "
               "and devices, and reports how good the plan is.");
  PlanOptions options;
  declareOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    return fail(Error{error.what()}, 2);
  }
  stagewright::registerAllPasses();
  if (options.listClusters || options.listPlanners)
    return printLists(options);
  if (Status status = checkOptions(options); !status)
    return fail(status.error(), 2);
  return options.explainLayouts ? explainAll(options) : run(options);
}
