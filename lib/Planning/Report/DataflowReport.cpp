//===- DataflowReport.cpp - placements as a table and as JSON -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dataflow.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using nlohmann::ordered_json;

namespace stagewright {

/// "store0, sampler0": the tasks on a machine.
static std::string tasksOn(const Dataflow &dataflow,
                           const TaskPlacement &placement, size_t machine) {
  std::string names;
  for (size_t task = 0; task < placement.size(); ++task)
    if (placement[task] == machine)
      names += (names.empty() ? "" : ", ") + dataflow.tasks[task].name;
  return names;
}

/// Whether the bytes of `edge` go over NICs.
static bool crosses(const DataflowEdge &edge, const TaskPlacement &placement) {
  return placement[edge.from] != placement[edge.to] && edge.bytes.value > 0;
}

std::string placementTable(const Dataflow &dataflow,
                           const PlacedDataflow &placed, LinkSharing sharing,
                           bool explain) {
  const TaskPlacement &placement = placed.machines;
  PipelineModel model = pipelineOf(dataflow, placement, sharing);
  std::vector<size_t> degrees = linkDegrees(model);
  std::vector<double> bytes = linkBytes(model);
  std::vector<std::vector<std::string>> rows = {
      {"machine", "connections out", "in", "bytes out", "in", "tasks"}};
  for (size_t m = 0; m < dataflow.machines.size(); ++m) {
    auto perIteration = [&](size_t link) {
      return toString(
          Bytes(int64_t(bytes[link] / double(dataflow.iterations) + 0.5)));
    };
    rows.push_back({dataflow.machines[m].name, std::to_string(degrees[2 * m]),
                    std::to_string(degrees[2 * m + 1]), perIteration(2 * m),
                    perIteration(2 * m + 1), tasksOn(dataflow, placement, m)});
  }
  std::string text = alignColumns(rows);
  if (explain) {
    rows = {{"connection", "from", "to", "bytes", "needed"}};
    for (const DataflowEdge &edge : dataflow.edges)
      if (crosses(edge, placement))
        rows.push_back({dataflow.tasks[edge.from].name + " to " +
                            dataflow.tasks[edge.to].name,
                        dataflow.machines[placement[edge.from]].name,
                        dataflow.machines[placement[edge.to]].name,
                        toString(edge.bytes),
                        edge.distance == 0
                            ? "the same iteration"
                            : counted(edge.distance, "iteration") + " later"});
    text += "\n" + alignColumns(rows);
  }
  text += "\n" + counted(dataflow.iterations, "iteration") + " with " +
          toString(sharing) + " rates: " + describe(placed.certificate) + "\n";
  for (const SearchOutcome &outcome : placed.searches)
    text += describeSearch(outcome) + "\n";
  return text;
}

std::string placementToJson(const Dataflow &dataflow,
                            const PlacedDataflow &placed, LinkSharing sharing) {
  const TaskPlacement &placement = placed.machines;
  const FlowCertificate &certificate = placed.certificate;
  PipelineModel model = pipelineOf(dataflow, placement, sharing);
  std::vector<size_t> degrees = linkDegrees(model);
  ordered_json root;
  root["policy"] = toString(sharing);
  root["iterations"] = dataflow.iterations;
  root["seconds"] = certificate.makespan.value;
  root["certificate"] = {{"degree", certificate.degree},
                         {"critical_path", certificate.criticalPath.value},
                         {"link_load", certificate.linkLoad.value},
                         {"lower_bound", certificate.lowerBound().value}};
  if (certificate.isBounded())
    root["certificate"].update({{"upper_bound", certificate.upperBound().value},
                                {"holds", certificate.holds()}});
  for (size_t task = 0; task < placement.size(); ++task)
    root["placement"][dataflow.tasks[task].name] =
        dataflow.machines[placement[task]].name;
  for (size_t m = 0; m < dataflow.machines.size(); ++m)
    root["machines"].push_back({{"name", dataflow.machines[m].name},
                                {"connections_out", degrees[2 * m]},
                                {"connections_in", degrees[2 * m + 1]}});
  root["connections"] = ordered_json::array();
  for (const DataflowEdge &edge : dataflow.edges)
    if (crosses(edge, placement))
      root["connections"].push_back({{"from", dataflow.tasks[edge.from].name},
                                     {"to", dataflow.tasks[edge.to].name},
                                     {"bytes", edge.bytes.value},
                                     {"distance", edge.distance}});
  for (const SearchOutcome &outcome : placed.searches)
    root["searches"].push_back({{"search", outcome.driver},
                                {"seed", outcome.seed},
                                {"evaluations", outcome.evaluations},
                                {"plans", outcome.plans},
                                {"optimum", outcome.isOptimum},
                                {"seconds", outcome.time.value}});
  return root.dump(2) + "\n";
}

} // namespace stagewright
