//===- SimulationReport.cpp - tables and JSON of a simulation -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimulationReport.h"
#include "Measured.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Simulation/Grid.h"
#include "stagewright/Support/Text.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <set>

namespace json = llvm::json;

namespace stagewright {

/// The peak memory of one device, and the stages that contribute to it.
struct DeviceMemory {
  Bytes peak;
  std::set<size_t> stages;
};

/// By device of the cluster: its peak memory, for the microbatches in flight in
/// this simulation.
static std::vector<DeviceMemory> memoryOf(const Simulation &simulation) {
  const Problem &problem = simulation.problem;
  std::vector<DeviceMemory> devices(problem.cluster.devices.size());
  for (size_t s = 0; s < simulation.plan.stages.size(); ++s) {
    const StagePlan &stage = simulation.plan.stages[s];
    StageMemory memory = stageMemory(problem, stage);
    int64_t inFlight = simulation.timeline.peakInFlight[s];
    if (takesTurns(problem, stage)) {
      auto replicas = static_cast<int64_t>(stage.devices.size());
      inFlight = (inFlight + replicas - 1) / replicas;
    }
    std::vector<double> shares = sharesOf(problem, stage);
    for (size_t v = 0; v < stage.devices.size(); ++v) {
      DeviceMemory &device = devices[stage.devices[v]];
      device.peak += memory.with(inFlight, problem.microbatches, shares[v]);
      device.stages.insert(s);
    }
  }
  return devices;
}

static std::string join(const std::set<size_t> &numbers) {
  std::string text;
  for (size_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

static std::string percent(Seconds part, Seconds whole) {
  double share = whole.value > 0 ? 100 * part.value / whole.value : 0;
  return llvm::formatv("{0:F1} %", share);
}

/// The stages that run on each processor.
static std::vector<std::set<size_t>> stagesOf(const Simulation &simulation) {
  std::vector<std::set<size_t>> stages;
  for (const auto &blocks : simulation.timeline.processors) {
    stages.emplace_back();
    for (const PipelineBlock &block : blocks)
      stages.back().insert(block.number);
  }
  return stages;
}

/// The peak of the fullest of `devices`, and its memory.
static std::string fullest(const Simulation &simulation,
                           const std::vector<DeviceMemory> &memory,
                           const std::set<size_t> &devices) {
  if (devices.empty())
    return "";
  size_t fullest = *std::max_element(
      devices.begin(), devices.end(),
      [&](size_t a, size_t b) { return memory[a].peak < memory[b].peak; });
  Bytes limit = simulation.problem.cluster.devices[fullest].memory;
  return toString(memory[fullest].peak) + " of " + toString(limit) +
         (memory[fullest].peak > limit ? " (does not fit)" : "");
}

static std::string deviceTable(const Simulation &simulation) {
  const PipelineTimeline &timeline = simulation.timeline;
  std::vector<DeviceMemory> memory = memoryOf(simulation);
  std::vector<std::set<size_t>> stages = stagesOf(simulation);
  std::vector<std::vector<std::string>> rows = {
      {"device", "stage", "compute", "bubble", "", "in flight", "memory"}};
  for (size_t p = 0; p < timeline.processors.size(); ++p) {
    std::string inFlight;
    for (size_t stage : stages[p])
      inFlight += (inFlight.empty() ? "" : ", ") +
                  std::to_string(timeline.peakInFlight[stage]);
    rows.push_back({simulation.names.processors[p], join(stages[p]),
                    precisely(timeline.compute[p]),
                    precisely(timeline.bubbles[p]),
                    percent(timeline.bubbles[p], timeline.makespan), inFlight,
                    fullest(simulation, memory, simulation.devices[p])});
  }
  return alignColumns(rows);
}

/// The time during which a channel carries transfers.
static Seconds busyOf(const Simulation &simulation, size_t channel) {
  Seconds busy;
  for (const PipelineBlock &block : simulation.timeline.channels[channel])
    busy += block.end - block.start;
  return busy;
}

static std::string channelTable(const Simulation &simulation) {
  if (simulation.model.channels.empty())
    return "";
  std::vector<std::vector<std::string>> rows = {
      {"channel", "there", "back", "busy", ""}};
  for (size_t c = 0; c < simulation.model.channels.size(); ++c) {
    const PipelineChannel &channel = simulation.model.channels[c];
    Seconds busy = busyOf(simulation, c);
    auto each = [](bool has, Seconds seconds) {
      return has ? precisely(seconds) : std::string("-");
    };
    rows.push_back(
        {std::to_string(channel.from) + " -> " + std::to_string(channel.to),
         each(channel.hasForward, channel.forward),
         each(channel.hasBackward && !simulation.model.forwardOnly,
              channel.backward),
         precisely(busy), percent(busy, simulation.timeline.makespan)});
  }
  return "\n" + alignColumns(rows);
}

static std::string otherOrders(const Simulation &simulation) {
  std::string text = "\nin other orders:";
  const char *separator = " ";
  for (ExecutionOrder order : allExecutionOrders()) {
    if (simulation.order == std::string(toString(order)) + " order")
      continue;
    text += separator + std::string(toString(order)) + " " +
            precisely(makespanOf(simulation.model, order));
    separator = ", ";
  }
  return text + "\n";
}

std::string tableOf(const Simulation &simulation) {
  const PipelineTimeline &timeline = simulation.timeline;
  int64_t microbatches = simulation.model.microbatches;
  std::string text = simulation.names.title + ", " +
                     std::to_string(microbatches) +
                     (microbatches == 1 ? " microbatch\n" : " microbatches\n");
  text +=
      "makespan " + precisely(timeline.makespan) + ", span " +
      precisely(timeline.span) +
      llvm::formatv(", bubble {0:F1} %", 100 * timeline.bubbleShare()).str() +
      ", no order is faster than " +
      precisely(planLowerBound(simulation.model)) + "\n\n";
  text += deviceTable(simulation) + channelTable(simulation);
  if (!timeline.collectives.empty())
    text += "\n";
  for (const PipelineBlock &block : timeline.collectives)
    text += toString(block, simulation.model) + " from " +
            precisely(block.start) + " to " + precisely(block.end) + "\n";
  return text + otherOrders(simulation);
}

std::string criticalPathOf(const PipelineModel &model,
                           const PipelineTimeline &timeline,
                           const PipelineNames &names) {
  std::vector<std::vector<std::string>> rows = {
      {"start", "end", "block", "waited for"}};
  for (const CriticalBlock &critical : timeline.criticalPath)
    rows.push_back(
        {names.ofTime(critical.block.start), names.ofTime(critical.block.end),
         toString(critical.block, model), toString(critical.waited)});
  return alignColumns(rows);
}

std::string gridOf(const Simulation &simulation) {
  Schedule schedule{"",
                    static_cast<int64_t>(simulation.model.stages.size()),
                    simulation.model.microbatches,
                    {}};
  for (const auto &blocks : simulation.timeline.processors) {
    Order order;
    for (const PipelineBlock &block : blocks) {
      ActionKind kind = ActionKind::Forward;
      if (block.kind == BlockKind::Backward)
        kind = ActionKind::Backward;
      if (block.kind == BlockKind::InputGradient)
        kind = ActionKind::InputGradient;
      if (block.kind == BlockKind::WeightGradient)
        kind = ActionKind::WeightGradient;
      if (block.kind == BlockKind::Recompute)
        kind = ActionKind::Recompute;
      order.push_back(
          {kind, static_cast<int64_t>(block.number), block.microbatch});
    }
    schedule.ranks.push_back(std::move(order));
  }
  // The simulation ran these orders, so drawing them cannot deadlock.
  Result<std::string> grid = drawGrid(schedule, graphOf(simulation.model));
  return grid ? *grid : "error: " + grid.error().message + "\n";
}

static json::Array devicesJson(const Simulation &simulation) {
  json::Array devices;
  std::vector<DeviceMemory> memory = memoryOf(simulation);
  for (size_t p = 0; p < simulation.devices.size(); ++p)
    for (size_t d : simulation.devices[p]) {
      const Device &device = simulation.problem.cluster.devices[d];
      devices.push_back(
          json::Object{{"device", device.name},
                       {"stages", json::Array(memory[d].stages)},
                       {"compute_s", simulation.timeline.compute[p].value},
                       {"bubble_s", simulation.timeline.bubbles[p].value},
                       {"memory_bytes", memory[d].peak.value},
                       {"memory_limit_bytes", device.memory.value}});
    }
  return devices;
}

static json::Array channelsJson(const Simulation &simulation) {
  json::Array channels;
  for (size_t c = 0; c < simulation.model.channels.size(); ++c) {
    const PipelineChannel &channel = simulation.model.channels[c];
    json::Object object{{"from", int64_t(channel.from)},
                        {"to", int64_t(channel.to)},
                        {"busy_s", busyOf(simulation, c).value}};
    if (channel.hasForward)
      object["forward_s"] = channel.forward.value;
    if (channel.hasBackward)
      object["backward_s"] = channel.backward.value;
    channels.push_back(std::move(object));
  }
  return channels;
}

std::string jsonOf(const Simulation &simulation) {
  const PipelineTimeline &timeline = simulation.timeline;
  json::Array stages, path, collectives;
  for (size_t s = 0; s < simulation.model.stages.size(); ++s) {
    const PipelineStage &stage = simulation.model.stages[s];
    stages.push_back(
        json::Object{{"stage", int64_t(s)},
                     {"forward_s", stage.times.forward.value},
                     {"backward_s", stage.backward().value},
                     {"tail_s", stage.tail.value},
                     {"peak_in_flight", timeline.peakInFlight[s]}});
  }
  for (const CriticalBlock &critical : timeline.criticalPath)
    path.push_back(
        json::Object{{"block", toString(critical.block, simulation.model)},
                     {"start_s", critical.block.start.value},
                     {"end_s", critical.block.end.value},
                     {"waited_for", toString(critical.waited)}});
  for (const PipelineBlock &block : timeline.collectives)
    collectives.push_back(
        json::Object{{"block", toString(block, simulation.model)},
                     {"start_s", block.start.value},
                     {"end_s", block.end.value}});
  json::Object orders;
  for (ExecutionOrder order : allExecutionOrders())
    orders[toString(order)] = makespanOf(simulation.model, order).value;
  json::Object all{
      {"order", simulation.order},
      {"microbatches", simulation.model.microbatches},
      {"makespan_s", timeline.makespan.value},
      {"span_s", timeline.span.value},
      {"bubble_share", timeline.bubbleShare()},
      {"lower_bound_plan_s", planLowerBound(simulation.model).value},
      {"orders_s", std::move(orders)},
      {"stages", std::move(stages)},
      {"devices", devicesJson(simulation)},
      {"channels", channelsJson(simulation)},
      {"collectives", std::move(collectives)},
      {"critical_path", std::move(path)}};
  if (simulation.measured)
    all["measured"] = json::Object{
        {"step_s", simulation.measured->seconds.value},
        {"predicted_s",
         predictedStep(*simulation.measured, timeline.makespan).value},
        {"error", predictionError(*simulation.measured, timeline.makespan)},
        {"before_s", simulation.measured->before.value},
        {"after_s", simulation.measured->after.value}};
  return llvm::formatv("{0:2}\n", json::Value(std::move(all)));
}

} // namespace stagewright
