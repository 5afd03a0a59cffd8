//===- Dataflows.cpp - placing the tasks of a dataflow --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dataflows.h"

#include "Input.h"
#include "Searches.h"

#include "stagewright/Planning/Dataflow.h"
#include "stagewright/Support/Files.h"

namespace stagewright {

/// Checks that no option of stages and devices is given: a dataflow has
/// neither.
static Status checkOptions(const PlanOptions &options) {
  const CostModel &model = options.model, usual;
  for (auto [isGiven, name] :
       {std::pair(!options.cluster.empty(), "--cluster"),
        {!options.memory.empty(), "--memory"},
        {!options.profile.empty(), "--profile"},
        {!options.layers.empty(), "--layers"},
        {!options.annotate.empty(), "--annotate"},
        {options.samples.has_value(), "--samples"},
        {options.target != "host", "--target"},
        {!options.recompute, "--no-recompute"},
        {options.recomputeLevel.has_value(), "--recompute-level"},
        {options.repeatsLayers, "--recompute-layers"},
        {options.offload != "auto", "--offload"},
        {!options.tensorParallel.empty(), "--tensor-parallel"},
        {!options.shardHints.empty(), "--shard"},
        {options.explainLayouts, "--explain-layouts"},
        {options.stages.has_value(), "--stages"},
        {options.chunks.has_value(), "--chunks"},
        {options.maxReplicas.has_value(), "--max-replicas"},
        {options.schedule != "auto", "--schedule"},
        {!options.placement.empty(), "--placement"},
        {!options.orders.empty(), "--orders"},
        {options.uniform, "--uniform"},
        {!options.searchStart.empty(), "--start"},
        {!options.searchLog.empty(), "--search-log"},
        {model.overlapAllReduce != usual.overlapAllReduce, "--no-overlap"},
        {model.halfDuplex != usual.halfDuplex, "--full-duplex"},
        {model.sharedNics != usual.sharedNics, "--no-nic"},
        {model.unevenSlices != usual.unevenSlices, "--equal-slices"},
        {model.directSkips != usual.directSkips, "--no-direct-skips"},
        {model.optimizerState != usual.optimizerState, "--optimizer-state"},
        {!options.svg.empty(), "--svg"},
        {!options.trace.empty(), "--trace"}})
    if (isGiven)
      return Error{std::string(name) + " is about stages on devices, and '" +
                   options.files[0] +
                   "' is a dataflow with tasks and machines of its own; leave "
                   "it out"};
  return {};
}

Result<bool> isDataflow(const PlanOptions &options) {
  for (const std::string &file : options.files) {
    if (options.format.empty() && file != "-") {
      Result<std::string> text = readTextFile(file);
      if (!text)
        continue; // Reported when it is planned.
      Result<std::string> format = guessFormat(*text, file);
      if (!format || *format != "dataflow")
        continue;
    } else if (options.format != "dataflow") {
      continue;
    }
    if (options.files.size() > 1)
      return Error{"'" + file +
                   "' is a dataflow, which is planned alone; give one input"};
    if (Status status = checkOptions(options); !status)
      return status.error();
    return true;
  }
  if (!options.policy.empty())
    return Error{"--policy is about the transfers of a dataflow; leave it out"};
  if (options.planner == "explore")
    return Error{"--planner=explore places the tasks of a dataflow; for stages "
                 "use --search=anneal or --planner=refine"};
  return false;
}

static Result<PlacedDataflow> place(const PlanOptions &options,
                                    const Dataflow &dataflow,
                                    LinkSharing sharing) {
  std::string planner = options.planner;
  if (planner.empty())
    planner = options.plan.empty() ? "explore" : "fixed";
  if ((planner == "fixed") == options.plan.empty())
    return Error{
        "--planner=" + planner +
        (options.plan.empty()
             ? " places the tasks as --plan=FILE.json says; give that"
             : " looks for a placement, and --plan gives one; give one "
               "of the two")};
  if (planner == "colocate")
    return evaluatePlacement(dataflow, colocate(dataflow), sharing);
  if (planner == "spread")
    return evaluatePlacement(dataflow, spread(dataflow), sharing);
  if (planner == "fixed") {
    Result<std::string> text = readTextFile(options.plan);
    if (!text)
      return text.error();
    Result<TaskPlacement> placement =
        readPlacement(dataflow, *text, options.plan);
    if (!placement)
      return placement.error();
    return evaluatePlacement(dataflow, *placement, sharing);
  }
  if (planner != "explore")
    return Error{"unknown planner '" + planner +
                 "' of a dataflow; there are explore, colocate, spread, fixed"};
  std::vector<std::string> drivers = options.searches;
  if (drivers.empty())
    drivers = {"anneal"};
  return explorePlacements(dataflow, sharing, drivers, searchOptions(options));
}

Status placeDataflow(const PlanOptions &options) {
  Result<std::string> text = readTextFile(options.files[0]);
  if (!text)
    return text.error();
  Result<Dataflow> dataflow = readDataflow(*text, options.files[0]);
  if (!dataflow)
    return dataflow.error();
  if (!options.microbatches.empty())
    dataflow->iterations = options.microbatches[0];
  if (Status status = dataflow->check(); !status)
    return status;
  Result<LinkSharing> sharing =
      parseLinkSharing(options.policy.empty() ? "oes" : options.policy);
  if (!sharing)
    return sharing.error();
  Result<PlacedDataflow> placed = place(options, *dataflow, *sharing);
  if (!placed)
    return placed.error();
  if (!options.searchSvg.empty())
    if (Status status = writeTextFile(
            options.searchSvg,
            drawSearch(placed->searches, placed->certificate.lowerBound()));
        !status)
      return status;
  return writeTextFile(
      options.output,
      options.json
          ? placementToJson(*dataflow, *placed, *sharing)
          : placementTable(*dataflow, *placed, *sharing, options.explain));
}

} // namespace stagewright
