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

#include "Input.h"
#include "Picture.h"
#include "Shards.h"

#include "stagewright/InitAllPasses.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Planning/Request.h"
#include "stagewright/Support/Files.h"

#include <CLI/CLI.hpp>

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
  Result<Plan> plan = makePlan(problem, request);
  if (!plan)
    return plan.error();
  Planned planned{std::move(problem), std::move(*plan), {}};
  if (options.uniform) {
    Result<std::vector<UniformPlan>> uniform = uniformPlans(planned.problem);
    if (!uniform)
      return uniform.error();
    planned.uniform = std::move(*uniform);
  }
  return planned;
}

/// Whether the planner may choose schedules that run I and W apart, as
/// pp-compile does.
bool choosesHalves(const PlanOptions &options, const Problem &problem,
                   const PlanRequest &request) {
  return problem.wholeBackward && options.plan.empty() && !options.stages &&
         !options.chunks && request.placement.empty() &&
         request.schedule == "auto" &&
         (request.planner == "auto" || request.planner == "placed");
}

/// Plans whole layers.
Result<Planned> planWhole(const PlanOptions &options, size_t number,
                          const std::string &fixed) {
  Result<Input> input = readInput(options, number, splitsBackward(fixed));
  if (!input)
    return input.error();
  input->problem.fixedPlan = fixed;
  PlanRequest request = {options.planner, options.schedule,
                         options.chunks.value_or(0), options.placement};
  if (request.planner.empty())
    request.planner =
        input->isModule && options.orders.empty() ? "auto" : "spp";
  bool hasHalves = choosesHalves(options, input->problem, request);
  Result<Planned> whole =
      planProblem(options, std::move(input->problem), request);
  if (!hasHalves)
    return whole;
  Result<Input> apart = readInput(options, number, /*halves=*/true);
  if (!apart)
    return whole;
  request.planner = "placed";
  Result<Planned> halves =
      planProblem(options, std::move(apart->problem), request);
  if (!halves || !whole)
    return halves ? halves : whole;
  bool isBetter = savesEnough(halves->plan.time, whole->plan.time);
  Planned &best = isBetter ? *halves : *whole;
  Planned &other = isBetter ? *whole : *halves;
  best.plan.familyBound = // Valid for both kinds of plans.
      std::min(best.plan.familyBound, other.plan.familyBound);
  for (UniformPlan &it : other.uniform)
    best.uniform.push_back(std::move(it));
  sortByTime(best.uniform);
  return best;
}

Result<Planned> planFile(const PlanOptions &options, size_t number) {
  Result<std::string> fixed = readFixedPlan(options);
  if (!fixed)
    return fixed.error();
  auto whole = [&] { return planWhole(options, number, *fixed); };
  return options.tensorParallel.empty()
             ? whole()
             : planShards(options, number, *fixed, whole);
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

/// Checks that CLI11 cannot express.
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
    return Error{"--tensor-parallel goes around the devices, in the order of a "
                 "schedule; leave out --placement and --orders"};
  if (options.tensorParallel.empty() && !options.shardHints.empty())
    return Error{"--shard states what --tensor-parallel splits; give that too, "
                 "as --tensor-parallel=2"};
  if (options.tensorParallel == "auto" && !options.plan.empty())
    return Error{"--plan is a plan for one number of shards; give it with "
                 "--tensor-parallel=N"};
  std::set<std::string> taken;
  std::string output = options.output.empty() ? "-" : options.output;
  for (const std::string &file : {output, options.svg, options.trace})
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

int run(const PlanOptions &options) {
  Result<Planned> best = planBest(options);
  if (!best)
    return fail(best.error());
  const auto &[problem, plan, uniform] = *best;
  if (Status status = writePictures(problem, plan, options.svg, options.trace);
      !status)
    return fail(status.error());
  std::string text = options.json ? planToJson(problem, plan, uniform)
                                  : planTable(problem, plan, options.explain);
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
  if (options.listClusters || options.listPlanners)
    return printLists(options);
  if (Status status = checkOptions(options); !status)
    return fail(status.error(), 2);
  stagewright::registerAllPasses();
  return run(options);
}
