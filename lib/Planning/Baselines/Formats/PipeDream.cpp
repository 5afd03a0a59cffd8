//===- PipeDream.cpp - reads PipeDream's profiled graphs ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   node3 -- ReLU(inplace) -- forward_compute_time=1.5,
//   backward_compute_time=3,
//     activation_size=[64; 128], parameter_size=0 -- stage_id=1     (one line)
//   <TAB>node3 -- node4
//
// Times are milliseconds, sizes bytes; a list of sizes is their sum. Layers are
// numbered in topological order; ties are in the order of the file.
//
// A source whose name starts with "input" has the time of loading data, which
// no device spends. It stays a layer, with neither time nor bytes, as in
// PipeDream's own optimizer. A value computed from inputs alone, without
// parameters and without a backward (an attention mask), is sent like any
// other, but has no gradient.
//
//===----------------------------------------------------------------------===//

#include "Text.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include "stagewright/Support/Limits.h"
#include "stagewright/Support/ParseNumber.h"
#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>

namespace stagewright {

namespace {
struct Node {
  int64_t id = 0;
  size_t line = 0;
  std::string name;
  Seconds forward, backward;
  Bytes activation, parameters;
  std::vector<size_t> from, to; ///< Other nodes, by position in the file.
};

/// The contents of the file.
struct Profile {
  std::vector<Node> nodes;
  std::map<int64_t, size_t> position; ///< By the number of the node.
};
} // namespace

/// "node12" as 12.
static std::optional<int64_t> parseNodeId(std::string_view text) {
  constexpr std::string_view kPrefix = "node";
  return text.starts_with(kPrefix) ? parseNumber(text.substr(kPrefix.size()))
                                   : std::nullopt;
}

/// A number of bytes, or a list of them "[1.0; 2.0]", summed.
static Result<Bytes> parseSizes(std::string_view text,
                                const std::string &what) {
  if (!text.starts_with('['))
    return parseByteCost(text, what);
  if (!text.ends_with(']'))
    return Error{what + " is a list without its ']', got '" +
                 std::string(text) + "'"};
  Bytes sum;
  for (std::string_view part : split(text.substr(1, text.size() - 2), ";")) {
    Result<Bytes> bytes = parseByteCost(part, what);
    if (!bytes)
      return bytes;
    sum += *bytes;
    if (sum.value > kMostBytes)
      return Error{what + " must be at most " + std::to_string(kMostBytes) +
                   " bytes in all, got '" + std::string(text) + "'"};
  }
  return sum;
}

/// Reads "forward_compute_time=1.5, ..." into `node`.
static Status parseCosts(std::string_view text, Node &node) {
  std::map<std::string, std::string_view> fields;
  for (std::string_view part : split(text, ", ")) {
    size_t equal = part.find('=');
    if (equal == std::string_view::npos)
      return Error{"expected name=number, got '" + std::string(part) + "'"};
    fields[std::string(trim(part.substr(0, equal)))] =
        trim(part.substr(equal + 1));
  }
  for (const char *name : {"forward_compute_time", "backward_compute_time",
                           "activation_size", "parameter_size"})
    if (!fields.contains(name))
      return Error{std::string("node has no '") + name + "'"};
  for (bool forward : {true, false}) {
    const char *name =
        forward ? "forward_compute_time" : "backward_compute_time";
    Result<double> milliseconds = parseCost(fields[name], name);
    if (!milliseconds)
      return milliseconds.error();
    (forward ? node.forward : node.backward) = Seconds(*milliseconds / 1e3);
  }
  for (bool activation : {true, false}) {
    const char *name = activation ? "activation_size" : "parameter_size";
    Result<Bytes> bytes = parseSizes(fields[name], name);
    if (!bytes)
      return bytes.error();
    (activation ? node.activation : node.parameters) = *bytes;
  }
  return {};
}

/// Reads the line of a node. A description may hold commas and " -- ".
static Result<Node> parseNode(const TextLine &line) {
  std::vector<std::string_view> parts = split(line.text, " -- ");
  if (parts.back().starts_with("stage_id="))
    parts.pop_back();
  Node node;
  node.line = line.number;
  std::optional<int64_t> id = parseNodeId(parts.front());
  if (!id || parts.size() < 3)
    return Error{"expected 'node<number> -- description -- costs', got '" +
                 std::string(line.text) + "'"};
  node.id = *id;
  for (size_t i = 1; i + 1 < parts.size(); ++i)
    node.name += (i == 1 ? "" : " -- ") + std::string(parts[i]);
  if (Status status = parseCosts(parts.back(), node); !status)
    return status.error();
  return node;
}

/// Reads the line of an edge into `profile`.
static Status parseEdge(const TextLine &line, Profile &profile) {
  std::vector<std::string_view> parts = split(line.text, " -- ");
  size_t ends[2];
  for (size_t i : {0, 1}) {
    std::optional<int64_t> id =
        parts.size() == 2 ? parseNodeId(parts[i]) : std::nullopt;
    if (!id)
      return Error{"expected an edge 'node<number> -- node<number>', got '" +
                   std::string(line.text) + "'"};
    auto found = profile.position.find(*id);
    if (found == profile.position.end())
      return Error{"edge names node" + std::to_string(*id) +
                   ", which the file does not have"};
    ends[i] = found->second;
  }
  std::vector<size_t> &to = profile.nodes[ends[0]].to;
  if (std::find(to.begin(), to.end(), ends[1]) != to.end())
    return {}; // Stated twice; the value is sent once.
  to.push_back(ends[1]);
  profile.nodes[ends[1]].from.push_back(ends[0]);
  return {};
}

static Result<Profile> parseProfile(const std::string &text,
                                    const std::string &file) {
  Profile profile;
  std::vector<TextLine> edges;
  for (const TextLine &line : linesOf(text)) {
    if (line.indented) {
      edges.push_back(line);
      continue;
    }
    Result<Node> node = parseNode(line);
    if (!node)
      return errorAt(file, line.number, node.error().message);
    auto [other, isNew] =
        profile.position.try_emplace(node->id, profile.nodes.size());
    if (!isNew)
      return errorAt(file, line.number,
                     "node" + std::to_string(node->id) +
                         " is a second one, the first is in line " +
                         std::to_string(profile.nodes[other->second].line));
    profile.nodes.push_back(std::move(*node));
  }
  if (profile.nodes.empty())
    return Error{file + ": no nodes"};
  for (const TextLine &line : edges)
    if (Status status = parseEdge(line, profile); !status)
      return errorAt(file, line.number, status.error().message);
  return profile;
}

/// The error for a cycle among the nodes that `order` leaves out. Each of them
/// has a predecessor among them, so a walk backwards ends in a cycle.
static Error cycleOf(const Profile &profile, const std::vector<size_t> &order,
                     const std::string &file) {
  size_t node = *firstLeftOut(order, profile.nodes.size());
  std::vector<size_t> walk;
  while (std::find(walk.begin(), walk.end(), node) == walk.end()) {
    walk.push_back(node);
    const std::vector<size_t> &from = profile.nodes[node].from;
    node = *std::find_if(from.begin(), from.end(), [&](size_t other) {
      return std::find(order.begin(), order.end(), other) == order.end();
    });
  }
  std::string path = "node" + std::to_string(profile.nodes[node].id);
  for (size_t i = walk.size(); i-- > 0;) {
    path += " -> node" + std::to_string(profile.nodes[walk[i]].id);
    if (walk[i] == node)
      break;
  }
  return errorAt(file, profile.nodes[node].line,
                 "the edges form a cycle: " + path);
}

/// The nodes in topological order; ties are in the order of the file.
static Result<std::vector<size_t>> orderOf(const Profile &profile,
                                           const std::string &file) {
  Successors next;
  for (const Node &node : profile.nodes)
    next.push_back(node.to);
  std::vector<size_t> order = topologicalOrder(next);
  if (firstLeftOut(order, next.size()))
    return cycleOf(profile, order, file);
  return order;
}

/// Whether `node` is a source whose name starts with "input".
static bool isInput(const Node &node) {
  constexpr std::string_view kInput = "input";
  return node.from.empty() && node.name.size() >= kInput.size() &&
         std::equal(kInput.begin(), kInput.end(), node.name.begin(),
                    [](char a, char b) { return a == (b | 0x20); });
}

Result<Problem> readPipeDream(const std::string &text,
                              const std::string &file) {
  Result<Profile> profile = parseProfile(text, file);
  if (!profile)
    return profile.error();
  Result<std::vector<size_t>> order = orderOf(*profile, file);
  if (!order)
    return order.error();

  std::vector<Node> &nodes = profile->nodes;
  std::vector<int64_t> layerOf(nodes.size());
  for (size_t i = 0; i < order->size(); ++i)
    layerOf[(*order)[i]] = int64_t(i);
  Problem problem;
  std::vector<bool> isData(nodes.size(), false);
  for (size_t position : *order) {
    Node &node = nodes[position];
    int64_t layer = layerOf[position];
    if (isInput(node)) {
      node.forward = node.backward = Seconds();
      node.activation = node.parameters = Bytes();
    }
    isData[position] = node.parameters.value == 0 && node.backward.value == 0 &&
                       std::all_of(node.from.begin(), node.from.end(),
                                   [&](size_t other) { return isData[other]; });
    problem.layers.push_back(
        {"node" + std::to_string(node.id) + " " + node.name,
         {{node.forward, node.backward, Seconds()}}});
    addParameters(problem, layer, node.parameters);
    std::vector<int64_t> consumers;
    for (size_t consumer : node.to)
      consumers.push_back(layerOf[consumer]);
    std::sort(consumers.begin(), consumers.end());
    addActivation(problem, layer, node.activation, consumers,
                  !isData[position]);
  }
  return problem;
}

} // namespace stagewright
