//===- PlanJson.cpp - reads and writes plans as JSON ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Scheduling/Generators.h"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

using nlohmann::json;
using nlohmann::ordered_json;

namespace stagewright {

static ordered_json stageToJson(const Problem &problem,
                                const StagePlan &stage) {
  ordered_json result;
  ordered_json &nodes = result["nodes"] = ordered_json::array();
  for (int64_t layer : stage.layers)
    nodes.push_back(problem.layers[layer].name);
  ordered_json &devices = result["devices"] = ordered_json::array();
  for (size_t device : stage.devices)
    devices.push_back(problem.cluster.devices[device].name);
  result["replicas"] = int64_t(stage.devices.size()) / stage.ways;
  if (stage.ways != 1)
    result["ways"] = stage.ways;
  if (stage.gangStage)
    result["gang_stage"] = *stage.gangStage;
  for (size_t i = 0; i < stage.alternatives.size(); ++i)
    result["alternatives"].push_back(problem.layers[stage.layers[i]]
                                         .alternatives[stage.alternatives[i]]
                                         .name);
  if (!stage.rows.empty())
    result["rows"] = stage.rows;
  result["recompute"] = stage.recompute;
  if (!stage.levels.empty())
    result["levels"] = stage.levels;
  for (int64_t layer : stage.offload)
    result["offload"].push_back(problem.layers[layer].name);
  result["forward_s"] = stage.times.forward.value;
  result["backward_s"] =
      (stage.times.inputGradient + stage.times.weightGradient).value;
  result["all_reduce_s"] = stage.allReduce.value;
  result["tail_s"] = stage.tail.value;
  result["memory_bytes"] = stage.memory.value;
  if (!stage.offload.empty()) {
    result["host_bytes"] = stage.host.value;
    result["copying_s"] = stage.copying.value;
  }
  result["bound_by"] = toString(stage.binding);
  return result;
}

static ordered_json uniformToJson(const UniformPlan &uniform) {
  return {{"replicas", uniform.replicas},
          {"devices", uniform.ranks},
          {"chunks", uniform.chunks},
          {"level", uniform.level},
          {"schedule", uniform.plan->orderName()},
          {"time_s", uniform.plan->time.value}};
}

static ordered_json searchToJson(const SearchOutcome &outcome) {
  ordered_json result = {
      {"search", outcome.driver},         {"seed", outcome.seed},
      {"plans", outcome.plans},           {"evaluations", outcome.evaluations},
      {"infeasible", outcome.infeasible}, {"search_s", outcome.seconds},
      {"time_s", outcome.time.value},     {"optimum", outcome.isOptimum}};
  for (const SearchPoint &point : outcome.curve)
    result["curve"].push_back({point.evaluations, point.best.value});
  return result;
}

std::string planToJson(const Problem &problem, const Plan &plan,
                       const std::vector<UniformPlan> &uniform,
                       const std::vector<SearchOutcome> &searches) {
  ordered_json result;
  result["planner"] = plan.planner;
  result["objective"] = plan.objective;
  result["value"] = plan.value;
  result["time_s"] = plan.time.value;
  result["lower_bound_plan_s"] = plan.planBound.value;
  result["lower_bound_family_s"] = plan.familyBound.value;
  if (plan.upperBound)
    result["upper_bound_s"] = plan.upperBound->value;
  if (plan.familyBound.value > 0)
    result["gap"] = plan.time.value / plan.familyBound.value - 1;
  if (plan.schedule.empty())
    result["order"] = toString(plan.order);
  else
    result["schedule"] = plan.schedule;
  result["microbatches"] = problem.microbatches;
  if (problem.shards > 1)
    result["shards"] = problem.shards;
  ordered_json &stages = result["stages"] = ordered_json::array();
  for (const StagePlan &stage : plan.stages)
    stages.push_back(stageToJson(problem, stage));
  for (const UniformPlan &it : uniform)
    if (it.plan)
      result["uniform"].push_back(uniformToJson(it));
  for (const SearchOutcome &outcome : searches)
    result["searches"].push_back(searchToJson(outcome));
  result["explanation"] = plan.explanation;
  // Names come from files and may be invalid UTF-8: replace such bytes.
  return result.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {
/// Reads one stage; keeps the first error.
class StageReader {
public:
  StageReader(const json &object, std::string where)
      : object(object), where(std::move(where)) {}

  /// The numbers in `known` of the names listed in `field`.
  std::vector<size_t> numbers(const char *field,
                              const std::map<std::string, size_t> &known,
                              const char *what) {
    std::vector<size_t> result;
    auto list = object.find(field);
    if (list == object.end() || !list->is_array()) {
      fail(std::string("has no list '") + field + "'");
      return result;
    }
    for (const json &name : *list) {
      auto found =
          name.is_string() ? known.find(name.get<std::string>()) : known.end();
      if (found == known.end())
        fail("names " + name.dump() + ", which is not a " + what);
      else
        result.push_back(found->second);
    }
    return result;
  }

  bool flag(const char *field) {
    auto value = object.find(field);
    if (value == object.end())
      return false;
    if (!value->is_boolean())
      fail(std::string("has '") + field + "' " + value->dump() +
           ", expected true or false");
    return value->is_boolean() && value->get<bool>();
  }

  std::vector<int64_t> rows() {
    auto value = object.find("rows");
    if (value == object.end())
      return {};
    std::vector<int64_t> result;
    bool isList = value->is_array();
    for (const json &count : isList ? *value : json::array()) {
      isList &= count.is_number_integer();
      result.push_back(count.is_number_integer() ? count.get<int64_t>() : 0);
    }
    if (!isList || result.empty())
      fail("needs a list of numbers of samples in 'rows', got " +
           value->dump());
    return result;
  }

  int64_t ways(size_t devices) {
    auto value = object.find("ways");
    if (value == object.end())
      return 1;
    if (value->is_number_integer() && *value > 0 && *value <= devices &&
        devices % value->get<size_t>() == 0)
      return value->get<int64_t>();
    fail("has 'ways' " + value->dump() +
         ", which must divide the number of its devices, " +
         std::to_string(devices));
    return 1;
  }

  std::optional<int64_t> gangStage() {
    auto value = object.find("gang_stage");
    if (value == object.end())
      return std::nullopt;
    if (value->is_number_integer())
      return value->get<int64_t>();
    fail("has 'gang_stage' " + value->dump() +
         ", expected the number of its stage of the pipeline");
    return std::nullopt;
  }

  /// The list `key` with an entry for each of `layers`; null if it is absent,
  /// or has another length, which is an error.
  const json *listFor(const std::vector<int64_t> &layers, const char *key,
                      const char *what) {
    auto list = object.find(key);
    if (list == object.end())
      return nullptr;
    if (list->is_array() && list->size() == layers.size())
      return &*list;
    fail(std::string("needs one ") + what + " in '" + key +
         "' for each of its " + std::to_string(layers.size()) +
         " layers ('nodes')");
    return nullptr;
  }

  /// The numbers of the named alternatives of `layers` for `ways` devices.
  std::vector<size_t> alternatives(const Problem &problem,
                                   const std::vector<int64_t> &layers,
                                   int64_t ways) {
    std::vector<size_t> result;
    const json *list = listFor(layers, "alternatives", "name");
    if (!list)
      return result;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Layer &layer = problem.layers[layers[i]];
      auto found = std::find_if(
          layer.alternatives.begin(), layer.alternatives.end(),
          [&](const Alternative &way) {
            return way.ways == ways && json(way.name) == (*list)[i];
          });
      if (found == layer.alternatives.end())
        fail("has alternative " + (*list)[i].dump() + " for layer '" +
             layer.name + "', which has none of that name for " +
             std::to_string(ways) + " devices");
      result.push_back(size_t(found - layer.alternatives.begin()));
    }
    return result;
  }

  /// The recomputation level of each of `layers`.
  std::vector<int64_t> levels(const Problem &problem,
                              const std::vector<int64_t> &layers) {
    std::vector<int64_t> result;
    const json *list = listFor(layers, "levels", "number");
    if (!list)
      return result;
    for (size_t i = 0; i < layers.size(); ++i) {
      const json &level = (*list)[i];
      const Layer &layer = problem.layers[layers[i]];
      bool exists = level.is_number_integer() && level >= 0 &&
                    level <= int64_t(layer.levels.size());
      if (!exists)
        fail("has recomputation level " + level.dump() + " for layer '" +
             layer.name + "', which has levels 0 to " +
             std::to_string(layer.levels.size()));
      result.push_back(exists ? level.get<int64_t>() : 0);
    }
    return result;
  }

  void fail(std::string reason) {
    if (!problem)
      problem = Error{where + " " + std::move(reason)};
  }
  const std::optional<Error> &error() const { return problem; }

private:
  const json &object;
  std::string where;
  std::optional<Error> problem;
};
} // namespace

template <typename Named>
static std::map<std::string, size_t>
numbersByName(const std::vector<Named> &named) {
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < named.size(); ++i)
    numbers.try_emplace(named[i].name, i);
  return numbers;
}

/// Sorts the layers, and with them `ways` (alternatives) and `levels`.
static void sortLayers(StagePlan &stage, const std::vector<size_t> &ways,
                       const std::vector<int64_t> &levels) {
  std::vector<std::tuple<int64_t, size_t, int64_t>> all;
  for (size_t i = 0; i < stage.layers.size(); ++i)
    all.emplace_back(stage.layers[i], ways.empty() ? 0 : ways[i],
                     levels.empty() ? 0 : levels[i]);
  std::sort(all.begin(), all.end());
  stage.layers.clear();
  for (auto [layer, way, level] : all) {
    stage.layers.push_back(layer);
    if (!ways.empty())
      stage.alternatives.push_back(way);
    if (!levels.empty())
      stage.levels.push_back(level);
  }
}

bool splitsBackward(const std::string &text) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || !parsed.contains("schedule") ||
      !parsed["schedule"].is_string())
    return false;
  Result<Generator> generator =
      findGenerator(parsed["schedule"].get<std::string>());
  return generator && generator->splitsBackward;
}

Result<Plan> planFromJson(const std::string &text, const std::string &file,
                          const Problem &problem) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded())
    return Error{"'" + file + "' is not JSON"};
  if (!parsed.is_object() || !parsed.contains("stages") ||
      !parsed["stages"].is_array())
    return Error{file + " has no list 'stages'"};
  Plan plan;
  plan.planner = "fixed";
  if (parsed.contains("order")) {
    const json &name = parsed["order"];
    Result<ExecutionOrder> order = parseExecutionOrder(
        name.is_string() ? name.get<std::string>() : name.dump());
    if (!order)
      return Error{file + ": " + order.error().message};
    plan.order = *order;
  }
  if (parsed.contains("schedule")) {
    const json &name = parsed["schedule"];
    Result<Generator> generator =
        findGenerator(name.is_string() ? name.get<std::string>() : name.dump());
    if (!generator)
      return Error{file + ": " + generator.error().message};
    plan.schedule = generator->name;
  }
  auto layers = numbersByName(problem.layers);
  auto devices = numbersByName(problem.cluster.devices);
  for (const json &object : parsed["stages"]) {
    StageReader reader(object,
                       file + ": stage " + std::to_string(plan.stages.size()));
    StagePlan stage;
    for (size_t layer : reader.numbers("nodes", layers, "layer of the model"))
      stage.layers.push_back(int64_t(layer));
    stage.devices = reader.numbers("devices", devices, "device of the cluster");
    stage.recompute = reader.flag("recompute");
    stage.ways = reader.ways(stage.devices.size());
    stage.gangStage = reader.gangStage();
    stage.rows = reader.rows();
    std::vector<size_t> ways =
        reader.alternatives(problem, stage.layers, stage.ways);
    std::vector<int64_t> levels = reader.levels(problem, stage.layers);
    if (object.contains("offload"))
      for (size_t layer :
           reader.numbers("offload", layers, "layer of the model"))
        stage.offload.push_back(int64_t(layer));
    std::sort(stage.offload.begin(), stage.offload.end());
    if (!stage.offload.empty() && !plan.schedule.empty())
      reader.fail("offloads layers, which is not supported with a 'schedule' "
                  "('" +
                  plan.schedule + "'); give an 'order' instead");
    if (reader.error())
      return *reader.error();
    sortLayers(stage, ways, levels);
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

} // namespace stagewright
