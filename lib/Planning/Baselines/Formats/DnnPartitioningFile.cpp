//===- DnnPartitioningFile.cpp - JSON of dnn-partitioning -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DnnPartitioningFile.h"
#include "stagewright/Planning/JsonCosts.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <cmath>
#include <tuple>

using nlohmann::json;

namespace stagewright {

/// Costs of one producer's edges that differ by less are considered equal.
static constexpr double kSameCost = 1e-6;

namespace {
class DnnParser {
public:
  DnnParser(const std::string &file, DnnFile &result)
      : file(file), result(result) {}

  Status parse(const json &root);

private:
  Status parseRequest(const json &root);
  Status parseNode(const json &object, size_t index);
  Status parseEdge(const json &object, size_t index);
  Status checkCycles() const;

  const std::string &file;
  DnnFile &result;
  std::map<int64_t, size_t> positionOf; ///< In `nodes`, by id.
  std::map<int64_t, size_t> colorOf;    ///< Our number by that of the file.
};
} // namespace

/// Parses a boolean, which the files write as true and false or as 1 and 0.
static Result<bool> parseFlag(const json &object, const std::string &where,
                              const char *field) {
  auto found = object.find(field);
  if (found == object.end())
    return Error{where + " has no field '" + field + "'"};
  if (found->is_boolean())
    return found->get<bool>();
  if (*found == 0 || *found == 1)
    return *found == 1;
  return Error{where + ": field '" + field +
               "' must be true, false, 0 or 1, "
               "got " +
               found->dump()};
}

Status DnnParser::parseRequest(const json &root) {
  JsonFields fields(root, file);
  double memory = fields.number("maxSizePerFPGA");
  result.devices = fields.integer("maxFPGAs");
  result.hosts = fields.integer("maxCPUs");
  if (fields.error())
    return *fields.error();
  if (Status status = checkAmount(memory, file, "maxSizePerFPGA"); !status)
    return status;
  result.memory = Bytes(int64_t(memory));
  for (auto [count, least, field] : {std::tuple(result.devices, 1, "maxFPGAs"),
                                     std::tuple(result.hosts, 0, "maxCPUs")})
    if (count < least || count > kMostProfileDevices)
      return Error{file + ": field '" + field + "' must be from " +
                   std::to_string(least) + " to " +
                   std::to_string(kMostProfileDevices) + ", got " +
                   std::to_string(count)};
  for (const char *list : {"nodes", "edges"})
    if (!root.contains(list) || !root[list].is_array())
      return Error{file + " has no list '" + list + "'"};
  if (root["nodes"].empty())
    return Error{file + " has no nodes"};
  return {};
}

Status DnnParser::parseNode(const json &object, size_t index) {
  std::string where = file + ": node number " + std::to_string(index);
  DnnNode node;
  JsonFields head(object, where);
  node.id = head.integer("id");
  if (head.error())
    return *head.error();
  node.name = "node " + std::to_string(node.id);
  if (auto name = object.find("name"); name != object.end()) {
    if (!name->is_string())
      return Error{file + ": " + node.name +
                   ": field 'name' must be a string, got " + name->dump()};
    where = file + ": node " + std::to_string(node.id) + " ('" +
            name->get<std::string>() + "')";
    node.name = name->get<std::string>();
  } else {
    where = file + ": " + node.name;
  }
  JsonFields fields(object, where);
  node.time = Seconds(fields.number("fpgaLatency"));
  node.hostTime = Seconds(fields.number("cpuLatency"));
  double size = object.contains("size") ? fields.number("size") : 0;
  bool hasColor = object.contains("colorClass");
  int64_t color = hasColor ? fields.integer("colorClass") : 0;
  if (fields.error())
    return *fields.error();
  for (auto [amount, field] :
       {std::pair(node.time.value, "fpgaLatency"),
        std::pair(node.hostTime.value, "cpuLatency"), std::pair(size, "size")})
    if (Status status = checkAmount(amount, where, field); !status)
      return status;
  node.size = Bytes(std::llround(size));
  Result<bool> backward = parseFlag(object, where, "isBackwardNode");
  Result<bool> supported = parseFlag(object, where, "supportedOnFpga");
  if (!backward || !supported)
    return (backward ? supported : backward).error();
  if (!*supported)
    return Error{where + " runs on no accelerator; nodes that only the host "
                         "can run are not supported: remove it"};
  node.backward = *backward;
  node.color = hasColor
                   ? colorOf.try_emplace(color, result.numColors).first->second
                   : result.numColors;
  result.numColors = std::max(result.numColors, node.color + 1);
  result.nodes.push_back(std::move(node));
  return {};
}

Status DnnParser::parseEdge(const json &object, size_t index) {
  std::string where = file + ": edge number " + std::to_string(index);
  JsonFields fields(object, where);
  int64_t ends[] = {fields.integer("sourceId"), fields.integer("destId")};
  double cost = fields.number("cost");
  double size =
      object.is_object() && object.contains("size") ? fields.number("size") : 0;
  if (fields.error())
    return *fields.error();
  where = file + ": edge " + std::to_string(ends[0]) + " -> " +
          std::to_string(ends[1]);
  for (int64_t id : ends)
    if (!positionOf.count(id))
      return Error{where + " names node " + std::to_string(id) +
                   ", which the file does not have"};
  for (auto [amount, field] :
       {std::pair(cost, "cost"), std::pair(size, "size")})
    if (Status status = checkAmount(amount, where, field); !status)
      return status;
  DnnNode &from = result.nodes[positionOf[ends[0]]];
  DnnNode &to = result.nodes[positionOf[ends[1]]];
  if (from.backward && !to.backward)
    return Error{where + " goes from the backward node '" + from.name +
                 "' to the forward node '" + to.name +
                 "'; a step runs forward before backward"};
  if (!from.to.empty() && std::abs(from.cost.value - cost) > kSameCost)
    return Error{where + " costs " + json(cost).dump() +
                 ", but another edge of node '" + from.name + "' costs " +
                 json(from.cost.value).dump() +
                 "; all edges of a node send one tensor, at one cost"};
  from.cost = std::max(from.cost, Seconds(cost));
  from.bytes = std::max(from.bytes, Bytes(std::llround(size)));
  from.to.push_back(positionOf[ends[1]]);
  return {};
}

/// Checks that the graph has no cycles. The error names a node on a cycle or
/// reachable from one.
Status DnnParser::checkCycles() const {
  Successors next;
  for (const DnnNode &node : result.nodes)
    next.push_back(node.to);
  std::optional<size_t> waiting =
      firstLeftOut(topologicalOrder(next), next.size());
  if (!waiting)
    return {};
  const DnnNode &node = result.nodes[*waiting];
  return Error{file + ": the edges form a cycle; node " +
               std::to_string(node.id) + " ('" + node.name +
               "') is on it or reachable from it, but a step needs a graph "
               "without cycles"};
}

Status DnnParser::parse(const json &root) {
  if (Status status = parseRequest(root); !status)
    return status;
  for (const json &object : root["nodes"])
    if (Status status = parseNode(object, result.nodes.size()); !status)
      return status;
  std::sort(result.nodes.begin(), result.nodes.end(),
            [](const DnnNode &a, const DnnNode &b) { return a.id < b.id; });
  for (size_t i = 0; i < result.nodes.size(); ++i)
    if (!positionOf.try_emplace(result.nodes[i].id, i).second)
      return Error{file + ": two nodes have the id " +
                   std::to_string(result.nodes[i].id) + ", '" +
                   result.nodes[i - 1].name + "' and '" + result.nodes[i].name +
                   "'"};
  size_t index = 0;
  for (const json &object : root["edges"])
    if (Status status = parseEdge(object, index++); !status)
      return status;
  return checkCycles();
}

Result<DnnFile> parseDnnFile(const std::string &text, const std::string &file) {
  Result<json> root = parseProfileJson(text, file);
  if (!root)
    return root.error();
  DnnFile result;
  if (Status status = DnnParser(file, result).parse(*root); !status)
    return status.error();
  return result;
}

} // namespace stagewright
