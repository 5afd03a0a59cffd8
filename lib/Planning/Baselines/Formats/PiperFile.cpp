//===- PiperFile.cpp - the JSON of msr-fiddle/piper -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PiperFile.h"
#include "stagewright/Planning/JsonCosts.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/ParseNumber.h"
#include <algorithm>
#include <cmath>
#include <set>

using nlohmann::json;

namespace stagewright {

namespace {
class PiperParser {
public:
  PiperParser(const std::string &file, PiperFile &result)
      : file(file), result(result) {}

  Status parse(const json &root);

private:
  Status parseRequest(const json &root);
  Status parseIds(const json &list);
  Status parseEdges(const json &list);
  Status parseWays(const json &node, size_t position);
  Status parseAlternative(const json &object, const std::string &where,
                          size_t position, Alternative &way);
  Status parseSyncs(const json &object, bool incoming, const std::string &where,
                    size_t position, std::map<int64_t, double> &syncs);

  const std::string &file;
  PiperFile &result;
  std::map<int64_t, size_t> positionOf; ///< Of nodes by their ids.
};
} // namespace

static Status checkRange(int64_t number, int64_t most, const std::string &where,
                         const char *field) {
  if (number >= 1 && number <= most)
    return {};
  return Error{where + ": field '" + field + "' must be from 1 to " +
               std::to_string(most) + ", got " + std::to_string(number)};
}

Status PiperParser::parseRequest(const json &root) {
  JsonFields fields(root, file);
  double memory = fields.number("maxMemoryPerDevice");
  result.devices = fields.integer("maxDevices");
  result.bandwidth = Bandwidth(fields.number("bandwidth"));
  result.microbatches = fields.integer("mbsInBatch");
  if (fields.error())
    return *fields.error();
  for (auto [field, amount] : {std::pair("maxMemoryPerDevice", memory),
                               std::pair("bandwidth", result.bandwidth.value)})
    if (!(amount >= 1) || amount > double(kMostBytes))
      return Error{file + ": field '" + field + "' must be from 1 to " +
                   std::to_string(kMostBytes) + ", got " + json(amount).dump()};
  result.memory = Bytes(int64_t(memory));
  if (Status status =
          checkRange(result.devices, kMostProfileDevices, file, "maxDevices");
      !status)
    return status;
  return checkRange(result.microbatches, kMostMicrobatches, file, "mbsInBatch");
}

Status PiperParser::parseIds(const json &list) {
  if (list.empty())
    return Error{file + ": field 'nodes' is empty"};
  for (size_t i = 0; i < list.size(); ++i) {
    std::string where = file + ": entry " + std::to_string(i) + " of 'nodes'";
    JsonFields fields(list[i], where);
    PiperNode node;
    node.id = fields.integer("id");
    if (!fields.error() && list[i].contains("name"))
      node.name = fields.text("name");
    if (fields.error())
      return *fields.error();
    auto [other, isNew] = positionOf.try_emplace(node.id, i);
    if (!isNew)
      return Error{where + " has the id " + std::to_string(node.id) +
                   " of entry " + std::to_string(other->second)};
    result.nodes.push_back(std::move(node));
  }
  return {};
}

Status PiperParser::parseEdges(const json &list) {
  std::set<std::pair<size_t, size_t>> known;
  for (size_t i = 0; i < list.size(); ++i) {
    std::string where = file + ": entry " + std::to_string(i) + " of 'edges'";
    JsonFields fields(list[i], where);
    double bytes = fields.number("communicationCost");
    int64_t ends[] = {fields.integer("sourceId"), fields.integer("destId")};
    if (fields.error())
      return *fields.error();
    for (int64_t end : ends)
      if (!positionOf.contains(end))
        return Error{where + " from " + std::to_string(ends[0]) + " to " +
                     std::to_string(ends[1]) + " names node " +
                     std::to_string(end) + ", which 'nodes' does not have"};
    if (Status status = checkAmount(bytes, where, "communicationCost"); !status)
      return status;
    size_t from = positionOf[ends[0]], to = positionOf[ends[1]];
    if (!known.emplace(from, to).second)
      return Error{where + " is a second edge from " + std::to_string(ends[0]) +
                   " to " + std::to_string(ends[1])};
    result.edges.push_back({from, to, Bytes(std::llround(bytes))});
  }
  return {};
}

Status PiperParser::parseSyncs(const json &object, bool incoming,
                               const std::string &where, size_t position,
                               std::map<int64_t, double> &syncs) {
  const char *field = incoming ? "syncTimeFw" : "syncTimeBw";
  JsonFields fields(object, where);
  const json &found = fields.object(field);
  if (fields.error())
    return *fields.error();
  std::set<size_t> neighbours;
  for (const PiperEdge &edge : result.edges)
    if ((incoming ? edge.to : edge.from) == position)
      neighbours.insert(incoming ? edge.from : edge.to);
  for (const auto &[key, bytes] : found.items()) {
    std::optional<int64_t> id = parseNumber(key);
    auto other = id ? positionOf.find(*id) : positionOf.end();
    if (other == positionOf.end() || !neighbours.erase(other->second))
      return Error{where + ": field '" + field + "' names '" + key +
                   "', which is not a node that an edge comes " +
                   (incoming ? "from" : "to")};
    double amount = bytes.is_number() ? bytes.get<double>() : -1;
    if (!bytes.is_number())
      return Error{where + ": field '" + field + "' must hold numbers, got " +
                   bytes.dump().substr(0, 40)};
    if (Status status = checkAmount(amount, where, field); !status)
      return status;
    syncs[int64_t(other->second)] = amount;
  }
  if (neighbours.empty())
    return {};
  return Error{where + ": field '" + field + "' lacks the edge " +
               (incoming ? "from" : "to") + " node " +
               std::to_string(result.nodes[*neighbours.begin()].id)};
}

Status PiperParser::parseAlternative(const json &object,
                                     const std::string &where, size_t position,
                                     Alternative &way) {
  JsonFields fields(object, where);
  way.name = fields.text("id");
  way.recompute = way.name.find("recomp") != std::string::npos;
  double parameters = 0;
  const std::pair<const char *, double *> amounts[] = {
      {"timePerSample", &way.time.value},
      {"parameterSize", &parameters},
      {"memoryUsageA", &way.memoryPerSample},
      {"memoryUsageB", &way.memoryFixed}};
  for (auto [field, amount] : amounts) {
    *amount = fields.number(field);
    if (fields.error())
      return *fields.error();
    if (Status status = checkAmount(*amount, where, field); !status)
      return status;
  }
  way.parameters = Bytes(std::llround(parameters));
  if (Status status = parseSyncs(object, true, where, position, way.syncIn);
      !status)
    return status;
  return parseSyncs(object, false, where, position, way.syncOut);
}

Status PiperParser::parseWays(const json &node, size_t position) {
  PiperNode &to = result.nodes[position];
  std::string where = file + ": node " + std::to_string(to.id);
  JsonFields fields(node, where);
  const json &found = fields.object("TMPCs");
  if (fields.error())
    return *fields.error();
  for (const auto &[key, list] : found.items()) {
    int64_t ways = parseNumber(key).value_or(0);
    if (ways < 1 || ways > kMostProfileDevices || !list.is_array())
      return Error{where +
                   ": field 'TMPCs' must map numbers of devices to lists, "
                   "got '" +
                   key + "': " + list.dump().substr(0, 40)};
    for (size_t i = 0; i < list.size(); ++i) {
      Alternative way;
      way.ways = ways;
      if (Status status = parseAlternative(
              list[i],
              where + ": entry " + std::to_string(i) + " of 'TMPCs' for " + key,
              position, way);
          !status)
        return status;
      to.alternatives.push_back(std::move(way));
    }
  }
  // JSON keys are sorted as text, where 16 comes before 2.
  std::stable_sort(to.alternatives.begin(), to.alternatives.end(),
                   [](const Alternative &a, const Alternative &b) {
                     return a.ways < b.ways;
                   });
  if (to.alternatives.empty() || to.alternatives.front().ways != 1)
    return Error{where + " cannot run on one device; give 'TMPCs' for 1"};
  return {};
}

Status PiperParser::parse(const json &root) {
  if (Status status = parseRequest(root); !status)
    return status;
  JsonFields fields(root, file);
  const json &nodes = fields.list("nodes"), &edges = fields.list("edges");
  if (fields.error())
    return *fields.error();
  if (Status status = parseIds(nodes); !status)
    return status;
  if (Status status = parseEdges(edges); !status)
    return status;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (Status status = parseWays(nodes[i], i); !status)
      return status;
  return {};
}

Result<PiperFile> parsePiperFile(const std::string &text,
                                 const std::string &file) {
  Result<json> root = parseProfileJson(text, file);
  if (!root)
    return root.error();
  PiperFile result;
  if (Status status = PiperParser(file, result).parse(*root); !status)
    return status.error();
  return result;
}

} // namespace stagewright
