//===- PlanTable.cpp - plans as text tables -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   stage  layers  devices  forward  backward  all-reduce  memory   bound by
//   0      0-18    d0-d14   1.2 ms   2.4 ms    10.1 ms     1.2 GiB  compute
//
// and a last column, "busy", with a bar and what the stage recomputes and
// offloads.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Support/Printed.h"
#include "stagewright/Support/Text.h"
#include <algorithm>

namespace stagewright {

/// Characters of the longest bar.
static constexpr double kBar = 20;

/// `numbers` as text, consecutive ones as a range: "3-5, 8".
static std::string runsOf(const std::vector<int64_t> &numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    text += (i ? ", " : "") + std::to_string(numbers[i]);
    if (end - i > 1)
      text += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

std::string joinedNames(const Cluster &cluster,
                        const std::vector<size_t> &devices) {
  auto split = [&](size_t i) {
    const std::string &name = cluster.devices[devices[i]].name;
    size_t digits = name.find_last_not_of("0123456789") + 1;
    std::string number = name.substr(digits);
    // A number of more than 9 digits is not treated as a counter.
    int64_t value =
        number.empty() || number.size() > 9 ? -1 : std::stoll(number);
    return std::pair(name.substr(0, digits), value);
  };
  std::string text;
  for (size_t i = 0; i < devices.size();) {
    size_t end = i + 1;
    auto first = split(i);
    while (end < devices.size() && first.second >= 0 &&
           split(end) ==
               std::pair(first.first, first.second + int64_t(end - i)))
      ++end;
    auto name = [&](size_t of) { return cluster.devices[devices[of]].name; };
    text +=
        (i ? ", " : "") + name(i) + (end - i > 1 ? "-" + name(end - 1) : "");
    i = end;
  }
  return text;
}

/// Text on what a stage recomputes before its backward; empty if nothing.
static std::string againOf(const Problem &problem, const StagePlan &stage) {
  if (stage.recompute)
    return " recomputes";
  size_t number = problem.cluster.classOfDevices()[stage.devices.front()];
  double again = 0, forward = 0;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    const Layer &layer = problem.layers[stage.layers[i]];
    again += layer.again(stage.levelOf(i), number).value;
    forward += layer.times[number].forward.value;
  }
  if (again == 0)
    return "";
  return printed(" recomputes %.0f %% of its forward", 100 * again / forward);
}

/// Text on what a stage offloads to its host; empty if nothing.
static std::string offloadOf(const StagePlan &stage) {
  if (stage.offload.empty())
    return "";
  return " offloads " + std::to_string(stage.offload.size()) + " of " +
         std::to_string(stage.layers.size()) + " layers, " +
         toString(stage.host) + " on the host, " + toString(stage.copying) +
         " each way";
}

/// The columns of one stage. `busiest`: the slowest stage's time for a
/// microbatch.
static std::vector<std::string> rowOf(const Problem &problem, const Plan &plan,
                                      size_t index, Seconds busiest) {
  const StagePlan &stage = plan.stages[index];
  std::vector<std::string> row = {
      std::to_string(index),
      runsOf(stage.layers),
      joinedNames(problem.cluster, stage.devices),
      toString(stage.times.forward),
      toString(stage.times.inputGradient + stage.times.weightGradient),
      toString(stage.allReduce),
      toString(stage.memory),
      toString(stage.binding)};
  double share =
      busiest.value > 0 ? stage.times.total().value / busiest.value : 0;
  std::string bar(size_t(share * kBar + 0.5), '#');
  if (stage.ways != 1)
    row[2] += " (" + std::to_string(stage.ways) + " a replica)";
  row.push_back(bar + againOf(problem, stage) + offloadOf(stage));
  return row;
}

static std::string percentAbove(Seconds time, Seconds bound) {
  return printed("%.1f %%", (time.value / bound.value - 1) * 100);
}

/// One sentence with the time of the plan and its proven bounds.
static std::string certificateOf(const Plan &plan) {
  std::string text =
      precisely(plan.time) + " a step in " + plan.orderName() + " order";
  if (plan.familyBound.value > 0)
    text += ", at most " + percentAbove(plan.time, plan.familyBound) +
            " above the fastest plan of this family (at least " +
            precisely(plan.familyBound) + ")";
  if (plan.planBound.value > 0)
    text +=
        "; no order of this plan is faster than " + precisely(plan.planBound);
  if (plan.upperBound)
    text += "; window order takes at most " + precisely(*plan.upperBound);
  return text + "\n";
}

std::string planTable(const Problem &problem, const Plan &plan, bool explain) {
  Seconds busiest;
  for (const StagePlan &stage : plan.stages)
    busiest = std::max(busiest, stage.times.total());
  std::string text =
      plan.planner + ": " + std::to_string(plan.stages.size()) +
      (plan.stages.size() == 1 ? " stage" : " stages") + " on cluster '" +
      problem.cluster.name + "', " + std::to_string(problem.microbatches) +
      (problem.microbatches == 1 ? " microbatch" : " microbatches");
  if (problem.shards > 1)
    text += ", layers over " + std::to_string(problem.shards) + " devices";
  if (plan.objective != "time")
    text += ", " + plan.objective + " " + printed("%.6g", plan.value);
  std::vector<std::vector<std::string>> rows = {
      {"stage", "layers", "devices", "forward", "backward", "all-reduce",
       "memory", "bound by", "busy"}};
  for (size_t s = 0; s < plan.stages.size(); ++s)
    rows.push_back(rowOf(problem, plan, s, busiest));
  text += "\n" + alignColumns(rows) + certificateOf(plan);
  if (explain)
    for (const std::string &line : plan.explanation)
      text += "- " + line + "\n";
  return text;
}

} // namespace stagewright
