//===- CompileReport.cpp - readable reports of a compilation --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileReport.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ScheduleData.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Simulation/Grid.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <functional>
#include <numeric>

namespace stagewright {

static std::string joined(ArrayRef<StringAttr> names) {
  return llvm::join(llvm::map_range(names, std::mem_fn(&StringAttr::getValue)),
                    ", ");
}

/// Describes how replicas average their parameters.
static void describeAveraging(pipeline::AveragingAttr rule,
                              llvm::raw_ostream &stream) {
  stream << llvm::formatv("replicas average every {0} steps, merged {1} steps "
                          "later ({2}",
                          rule.getEvery(), rule.getDelay(),
                          rule.getMerge().getValue());
  if (!rule.isCorrected())
    stream << llvm::formatv(", xi {0}", rule.getXi().getValueAsDouble());
  stream << llvm::formatv(
      "): the share {0:F2} of the work of {1} steps takes effect, averages are "
      "{2} steps old\n",
      rule.progress(), rule.getEvery(), rule.getDelay());
  if (!rule.getAllReduce() || !rule.getStep())
    return;
  Seconds sum(rule.getAllReduce().getValueAsDouble());
  Seconds step(rule.getStep().getValueAsDouble());
  Seconds exposed = std::max(Seconds(), sum - double(rule.getDelay()) * step);
  stream << llvm::formatv("an average takes {0} beside steps of {1}: {2} of it "
                          "exposed per {3} steps\n",
                          toString(sum), toString(step), toString(exposed),
                          rule.getEvery());
}

/// Describes the plan of `program`, in `report` and on its module.
static void describeProgram(pipeline::ProgramOp program, ArrayRef<double> idle,
                            StringAttr grid, CompileReport *report) {
  pipeline::GraphOp graph = pipeline::graphOf(program);
  MLIRContext *context = program.getContext();
  SmallVector<rank::StageAttr> stages;
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto stage : program.getBody().front().getOps<pipeline::StageOp>()) {
    SmallVector<StringAttr> layers, devices;
    for (int64_t layer : stage.getLayers())
      layers.push_back(cast<StringAttr>(graph.getLayers()[layer]));
    for (Attribute device : stage.getDevices())
      devices.push_back(cast<FlatSymbolRefAttr>(device).getAttr());
    std::string names =
        layers.size() > 3
            ? (layers.front().getValue() + " .. " + layers.back().getValue())
                  .str()
            : joined(layers);
    stream << llvm::formatv("stage {0} on {1}: {2} layers: {3}\n",
                            stage.getIndex(), joined(devices), layers.size(),
                            names);
    stages.push_back(
        rank::StageAttr::get(context, stage.getIndex(), devices, layers));
  }
  pipeline::PlanAttr promise = program.getPlanAttr();
  if (promise)
    stream << llvm::formatv("predicted step {0:F3} ms, bound {1:F3} ms, "
                            "planner {2}\n",
                            promise.getTime().getValueAsDouble() * 1e3,
                            promise.getBound().getValueAsDouble() * 1e3,
                            promise.getPlanner().getValue());
  if (pipeline::AveragingAttr rule = program.getAveragingAttr())
    describeAveraging(rule, stream);
  program->getParentOfType<ModuleOp>()->setAttr(
      rank::RankDialect::kPlan,
      rank::PlanAttr::get(context, stages, promise, program.getAveragingAttr(),
                          idle.empty() ? nullptr
                                       : DenseF64ArrayAttr::get(context, idle),
                          grid));
  if (report)
    report->plan = text;
}

void describePlan(ModuleOp module, CompileReport *report) {
  std::vector<double> idle;
  StringAttr drawn;
  for (auto schedule : module.getOps<pipeline::ScheduleOp>()) {
    Schedule data = pipeline::readSchedule(schedule);
    idle = pipeline::idleShares(pipeline::programOf(schedule), data);
    Result<std::string> grid =
        drawGrid(data, pipeline::stageGraphOf(pipeline::programOf(schedule)));
    if (!grid)
      continue;
    drawn = StringAttr::get(module.getContext(), *grid);
    if (!report)
      continue;
    std::string times =
        pipeline::describeTimes(pipeline::programOf(schedule), data);
    report->grid = *grid + "schedule " + data.kind +
                   (times.empty() ? "" : ": " + times) + "\n";
    if (std::optional<ArrayRef<int64_t>> credits = schedule.getCredits()) {
      llvm::raw_string_ostream stream(report->grid);
      stream << "ranks run what is ready; credits of the stages: ";
      llvm::interleaveComma(*credits, stream);
      stream << "\n";
    }
  }
  for (auto program : module.getOps<pipeline::ProgramOp>())
    describeProgram(program, idle, drawn, report);
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
    stream << llvm::formatv("arenas take at most {0:F1} % more than their "
                            "lower bound (rank {1})\n",
                            100 * loss, loosest);
}

} // namespace stagewright
