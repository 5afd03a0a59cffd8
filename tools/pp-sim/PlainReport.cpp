//===- PlainReport.cpp - tables and JSON of a schedule --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainReport.h"
#include "stagewright/Simulation/Grid.h"
#include "stagewright/Simulation/ScheduleTimeline.h"
#include "stagewright/Support/Text.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <set>

namespace json = llvm::json;

namespace stagewright {

/// value / bound - 1; 0 if they are equal up to rounding; nullopt if the bound
/// is 0 and the value is not.
static std::optional<double> gapOf(Seconds value, Seconds bound) {
  double above = value.value - bound.value;
  if (std::abs(above) <= 1e-9 * bound.value || above == 0)
    return 0;
  if (bound.value == 0)
    return std::nullopt;
  return above / bound.value;
}

/// (value - work) / value: the bubble rate of the zero-bubble papers.
static double bubbleRate(Seconds value, Seconds work) {
  return value.value > 0 ? (value - work).value / value.value : 0;
}

static std::string gapText(Seconds value, Seconds bound) {
  std::optional<double> gap = gapOf(value, bound);
  return gap ? llvm::formatv("{0:F2} %", 100 * *gap).str() : "-";
}

static std::string setBy(const LowerBound &bound) {
  return bound.reason + " on rank " + std::to_string(bound.rank);
}

static std::string metricTable(const PlainSchedule &plain) {
  std::vector<std::vector<std::string>> rows = {
      {"", "value", "bubble", "m*T", "at least", "gap", "set by"}};
  Seconds work = maxWork(plain.schedule, plain.problem).first;
  auto add = [&](const char *name, Seconds value, const LowerBound &bound) {
    rows.push_back(
        {name, plainly(value.value),
         llvm::formatv("{0:F2} %", 100 * bubbleRate(value, work)).str(),
         plainly(work.value), plainly(bound.value.value),
         gapText(value, bound.value), setBy(bound)});
  };
  add("makespan", plain.timing.makespan, plain.bounds.makespan);
  add("span", plain.timing.span, plain.bounds.span);
  std::string text = alignColumns(rows);
  if (const auto &whole = plain.boundsWithoutSplit) {
    text += "with every backward whole: makespan at least " +
            plainly(whole->makespan.value.value) + " (gap " +
            gapText(plain.timing.makespan, whole->makespan.value) +
            "), span at least " + plainly(whole->span.value.value) + " (gap " +
            gapText(plain.timing.span, whole->span.value) + ")\n";
  }
  return text;
}

static std::string placementTable(const PlainSchedule &plain) {
  if (plain.placements.empty())
    return "";
  std::vector<std::vector<std::string>> rows = {
      {"placement", "m*T", "makespan", "at least", "gap", "span", "at least",
       "gap", "found by"}};
  for (const AutoSchedule &each : plain.placements) {
    const Timeline &timing = each.timing;
    const LowerBounds &bounds = each.bounds;
    Seconds work = maxWork(each.schedule, plain.problem).first;
    rows.push_back(
        {toString(each.placement), plainly(work.value),
         plainly(timing.makespan.value), plainly(bounds.makespan.value.value),
         gapText(timing.makespan, bounds.makespan.value),
         plainly(timing.span.value), plainly(bounds.span.value.value),
         gapText(timing.span, bounds.span.value), each.origin});
  }
  return "\n" + alignColumns(rows);
}

static std::string rankTable(const PlainSchedule &plain) {
  std::vector<std::vector<std::string>> rows = {
      {"rank", "stages", "computes", "idle", "holds", "of"}};
  for (size_t rank = 0; rank < plain.schedule.ranks.size(); ++rank) {
    std::set<int64_t> numbers;
    for (const Action &action : plain.schedule.ranks[rank])
      numbers.insert(action.stage);
    std::string stages;
    for (int64_t stage : numbers)
      stages += (stages.empty() ? "" : ",") + std::to_string(stage);
    Seconds work = plain.timing.work[rank];
    rows.push_back({std::to_string(rank), stages, plainly(work.value),
                    plainly((plain.timing.makespan - work).value),
                    plainly(plain.timing.peaks[rank]),
                    std::isfinite(plain.problem.memory)
                        ? plainly(plain.problem.memory)
                        : "any"});
  }
  return "\n" + alignColumns(rows);
}

std::string tableOf(const PlainSchedule &plain) {
  std::string text = plain.title();
  if (!plain.origin.empty())
    text += ", found by " + plain.origin;
  text += toText(plain.optimality);
  text += "\nlower bounds hold for every order with " + plain.placementText() +
          "\n\n";
  return text + metricTable(plain) + placementTable(plain) + rankTable(plain);
}

std::string gridOf(const PlainSchedule &plain) {
  return "from 0 to " + plainly(plain.timing.makespan.value) + ":\n" +
         drawGridToScale(plain.timing);
}

static void addOptimality(json::Object &object, Optimality optimality) {
  object["optimal"] = optimality == Optimality::Proved;
  object["optimal_first_in_first_out"] = optimality != Optimality::Unknown;
}

/// Adds both metrics with their bounds.
static void addMetrics(json::Object &object, const Timeline &timing,
                       const LowerBounds &bounds, Seconds work) {
  auto add = [&](const char *name, Seconds value, const LowerBound &bound) {
    std::string metric = name;
    object[metric] = value.value;
    object["bubble_rate_" + metric] = bubbleRate(value, work);
    object["lower_bound_" + metric] = bound.value.value;
    object["lower_bound_" + metric + "_set_by"] = setBy(bound);
    std::optional<double> gap = gapOf(value, bound.value);
    object["gap_" + metric] = gap ? json::Value(*gap) : json::Value(nullptr);
  };
  add("makespan", timing.makespan, bounds.makespan);
  add("span", timing.span, bounds.span);
  object["m_times_t"] = work.value;
  object["peak"] = json::Array(timing.peaks);
}

std::string jsonOf(const PlainSchedule &plain) {
  const ScheduleProblem &problem = plain.problem;
  json::Object all{
      {"schedule", plain.name},
      {"placement", plain.hasPlacement ? toString(problem.placement) : "own"},
      {"ranks", problem.ranks},
      {"chunks", problem.chunks},
      {"stages", problem.numStages()},
      {"microbatches", problem.microbatches}};
  addMetrics(all, plain.timing, plain.bounds,
             maxWork(plain.schedule, problem).first);
  if (std::isfinite(problem.memory))
    all["memory"] = problem.memory;
  if (!plain.origin.empty()) {
    all["found_by"] = plain.origin;
    addOptimality(all, plain.optimality);
  }
  if (const auto &whole = plain.boundsWithoutSplit) {
    all["lower_bound_makespan_without_split"] = whole->makespan.value.value;
    all["lower_bound_span_without_split"] = whole->span.value.value;
  }
  if (!plain.placements.empty()) {
    json::Array placements;
    for (const AutoSchedule &each : plain.placements) {
      json::Object object{{"placement", toString(each.placement)},
                          {"found_by", each.origin}};
      addOptimality(object, each.optimality);
      addMetrics(object, each.timing, each.bounds,
                 maxWork(each.schedule, problem).first);
      placements.push_back(std::move(object));
    }
    all["placements"] = std::move(placements);
  }
  return llvm::formatv("{0:2}\n", json::Value(std::move(all)));
}

PipelineNames namesOf(const PlainSchedule &plain) {
  PipelineNames names;
  names.title = plain.title();
  names.plainTime = true;
  for (int64_t rank = 0; rank < plain.problem.ranks; ++rank)
    names.processors.push_back("rank " + std::to_string(rank));
  return names;
}

} // namespace stagewright
