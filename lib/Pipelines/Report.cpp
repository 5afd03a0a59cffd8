//===- Report.cpp - readable reports of a compilation ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ScheduleData.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Simulation/Grid.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <numeric>

using namespace mlir;

namespace stagewright {

static std::string layerNames(pipeline::GraphOp graph, ArrayRef<int64_t> layers,
                              bool every) {
  auto nameOf = [&](int64_t layer) {
    return cast<StringAttr>(graph.getLayers()[layer]).getValue();
  };
  std::string text;
  if (!every && layers.size() > 3)
    return (nameOf(layers.front()) + " .. " + nameOf(layers.back())).str();
  for (int64_t layer : layers)
    text += (text.empty() ? "" : ", ") + nameOf(layer).str();
  return text;
}

/// Describes how replicas average their parameters, for the manifest and, as
/// text, to `stream`.
static llvm::json::Value describeAveraging(pipeline::AveragingAttr rule,
                                           llvm::raw_ostream &stream) {
  double xi = rule.getXi().getValueAsDouble();
  llvm::json::Object facts{{"every", rule.getEvery()},
                           {"delay", rule.getDelay()},
                           {"merge", rule.getMerge().getValue()},
                           {"progress", rule.progress()}};
  stream << llvm::formatv("replicas average every {0} steps, merged {1} later "
                          "({2}",
                          rule.getEvery(), rule.getDelay(),
                          rule.getMerge().getValue());
  if (!rule.isCorrected()) {
    facts["xi"] = xi;
    stream << llvm::formatv(", xi {0}", xi);
  }
  stream << llvm::formatv("): progress {0:F2} of {1} steps, averages {2} old\n",
                          rule.progress(), rule.getEvery(), rule.getDelay());
  if (!rule.getAllReduce())
    return facts;
  Seconds sum(rule.getAllReduce().getValueAsDouble());
  Seconds step(rule.getStep().getValueAsDouble());
  Seconds exposed = std::max(Seconds(), sum - double(rule.getDelay()) * step);
  facts["all_reduce_s"] = sum.value;
  facts["step_s"] = step.value;
  facts["exposed_s"] = exposed.value;
  stream << llvm::formatv("an average takes {0} beside steps of {1}: {2} of it "
                          "exposed per {3} steps\n",
                          toString(sum), toString(step), toString(exposed),
                          rule.getEvery());
  return facts;
}

static void describeProgram(pipeline::ProgramOp program, ArrayRef<double> idle,
                            CompileReport *report) {
  pipeline::GraphOp graph = pipeline::graphOf(program);
  llvm::json::Array stages;
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto stage : program.getBody().front().getOps<pipeline::StageOp>()) {
    llvm::json::Array layers, devices;
    for (int64_t layer : stage.getLayers())
      layers.push_back(cast<StringAttr>(graph.getLayers()[layer]).getValue());
    for (Attribute device : stage.getDevices())
      devices.push_back(cast<FlatSymbolRefAttr>(device).getValue());
    std::string places;
    for (const llvm::json::Value &device : devices)
      places += (places.empty() ? "" : ", ") + device.getAsString()->str();
    stream << llvm::formatv("stage {0} on {1}: {2} layers: {3}\n",
                            stage.getIndex(), places, stage.getLayers().size(),
                            layerNames(graph, stage.getLayers(), false));
    stages.push_back(llvm::json::Object{{"stage", stage.getIndex()},
                                        {"devices", std::move(devices)},
                                        {"layers", std::move(layers)}});
  }
  llvm::json::Object plan{{"stages", std::move(stages)}};
  if (pipeline::PlanAttr promise = program.getPlanAttr()) {
    double time = promise.getTime().getValueAsDouble();
    double bound = promise.getBound().getValueAsDouble();
    stream << llvm::formatv("predicted step {0:F3} ms, bound {1:F3} ms, "
                            "planner {2}\n",
                            time * 1e3, bound * 1e3,
                            promise.getPlanner().getValue());
    plan["time"] = time;
    plan["bound"] = bound;
    plan["planner"] = promise.getPlanner().getValue();
  }
  if (pipeline::AveragingAttr rule = program.getAveragingAttr())
    plan["averaging"] = describeAveraging(rule, stream);
  if (!idle.empty())
    plan["idle"] = llvm::json::Array(idle);
  std::string json;
  llvm::raw_string_ostream(json) << llvm::json::Value(std::move(plan));
  program->getParentOfType<ModuleOp>()->setAttr(
      "rank.plan", StringAttr::get(program.getContext(), json));
  if (report)
    report->plan = text;
}

void describePlan(ModuleOp module, CompileReport *report) {
  std::vector<double> idle;
  for (auto schedule : module.getOps<pipeline::ScheduleOp>()) {
    auto data = pipeline::readSchedule(schedule);
    if (failed(data))
      continue;
    idle = pipeline::idleShares(pipeline::programOf(schedule), *data);
    Result<std::string> grid =
        drawGrid(*data, pipeline::stageGraphOf(pipeline::programOf(schedule)));
    if (!grid)
      continue;
    module->setAttr("rank.grid", StringAttr::get(module.getContext(), *grid));
    if (!report)
      continue;
    std::string times =
        pipeline::describeTimes(pipeline::programOf(schedule), *data);
    report->grid = *grid + "schedule " + data->kind +
                   (times.empty() ? "" : ": " + times) + "\n";
    if (std::optional<ArrayRef<int64_t>> credits = schedule.getCredits()) {
      llvm::raw_string_ostream stream(report->grid);
      stream << "ranks run what is ready; credits of the stages: ";
      llvm::interleaveComma(*credits, stream);
      stream << "\n";
    }
  }
  for (auto program : module.getOps<pipeline::ProgramOp>())
    describeProgram(program, idle, report);
}

void describeMemory(ModuleOp module, CompileReport *report) {
  if (!report)
    return;
  SmallVector<StringRef> columns = {
      "parameters", "gradients", "batch",  "outputs", "stash",
      "transfers",  "workspace", "shared", "arena",   "live_peak"};
  auto has = [&](StringRef column) {
    return llvm::any_of(module.getOps<rank::ProgramOp>(), [&](auto program) {
      return program.getMemoryAttr() &&
             program.getMemoryAttr().contains(column);
    });
  };
  if (has("state"))
    columns.insert(columns.begin() + 2, "state");
  if (has("host")) // Not part of the arena.
    columns.push_back("host");
  auto bytesOf = [](rank::ProgramOp program, StringRef column) -> int64_t {
    auto bytes = program.getMemoryAttr()
                     ? program.getMemoryAttr().getAs<IntegerAttr>(column)
                     : IntegerAttr();
    return bytes ? bytes.getInt() : 0;
  };
  auto programs = llvm::to_vector(module.getOps<rank::ProgramOp>());
  SmallVector<int64_t> sums;
  for (StringRef column : columns)
    sums.push_back(std::accumulate(programs.begin(), programs.end(), int64_t(0),
                                   [&](int64_t sum, rank::ProgramOp program) {
                                     return sum + bytesOf(program, column);
                                   }));
  // Widen the columns if a sum has more digits than the default width.
  size_t width =
      std::max<size_t>(13, std::to_string(*llvm::max_element(sums)).size() + 1);
  auto cell = [&](StringRef text) {
    return std::string(width - std::min(width, text.size()), ' ') + text.str();
  };

  llvm::raw_string_ostream stream(report->memory);
  stream << "rank device";
  for (StringRef column : columns)
    stream << cell(column);
  stream << "   (bytes)\n";
  int64_t loosest = 0;
  double loss = 0;
  for (rank::ProgramOp program : programs) {
    stream << llvm::formatv("{0,4} {1,6}", program.getRank(),
                            program.getDevice());
    for (StringRef column : columns)
      stream << cell(std::to_string(bytesOf(program, column)));
    stream << "\n";
    int64_t arena = bytesOf(program, "arena"),
            bound = bytesOf(program, "bound");
    double more = bound > 0 ? double(arena) / double(bound) - 1 : -1;
    if (more >= loss) {
      loss = more;
      loosest = program.getRank();
    }
  }
  if (programs.size() > 1) {
    stream << " all       ";
    for (int64_t sum : sums)
      stream << cell(std::to_string(sum));
    stream << "\n";
  }
  if (!programs.empty())
    stream << llvm::formatv("arenas take at most {0:F1} % more than what lives "
                            "at once (rank {1})\n",
                            100 * loss, loosest);
}

} // namespace stagewright
