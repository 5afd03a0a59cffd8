//===- Info.cpp - prints a summary of an artifact -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Info.h"

#include <algorithm>
#include <iomanip>
#include <string>
#include <vector>

using json = nlohmann::json;

namespace {

constexpr int indent = 14;

std::ostream &line(std::ostream &out, const std::string &title) {
  return out << std::left << std::setw(indent) << title << std::right;
}

/// A JSON value as text without quotes: elements of lists separated by blanks,
/// objects as `key value, key value`.
std::string plain(const json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (!value.is_structured())
    return value.dump();
  std::string text;
  for (auto &[key, element] : value.items())
    text += (text.empty()        ? ""
             : value.is_object() ? ", "
                                 : " ") +
            (value.is_object() ? key + " " : "") + plain(element);
  return text;
}

/// Prints a line per member of the plan, and per element of lists of objects.
void printPlan(std::ostream &out, const json &plan) {
  for (auto &[key, value] : plan.items()) {
    bool lines = value.is_array() && !value.empty() && value[0].is_object();
    if (!lines) {
      line(out, "  " + key) << plain(value) << "\n";
      continue;
    }
    out << "  " << key << "\n";
    for (const json &element : value)
      out << "    " << plain(element) << "\n";
  }
}

void printMemory(std::ostream &out, const json &ranks) {
  std::vector<std::string> columns;
  for (const json &rank : ranks)
    for (auto &[key, value] : rank.at("memory").items())
      if (value.is_number() &&
          std::find(columns.begin(), columns.end(), key) == columns.end())
        columns.push_back(key);
  // Totals are the last columns.
  for (const char *last : {"arena", "live_peak"})
    if (auto it = std::find(columns.begin(), columns.end(), last);
        it != columns.end())
      std::rotate(it, it + 1, columns.end());

  out << "memory, bytes\n"
      << std::setw(6) << "rank" << std::setw(10) << "device";
  for (const std::string &column : columns)
    out << std::setw(std::max<int>(13, int(column.size()) + 2)) << column;
  out << "\n";
  for (const json &rank : ranks) {
    out << std::setw(6) << plain(rank["rank"]) << std::setw(10)
        << plain(rank["device"]);
    for (const std::string &column : columns)
      out << std::setw(std::max<int>(13, int(column.size()) + 2))
          << plain(rank.at("memory").value(column, json(0)));
    out << "\n";
  }
}

void printTensors(std::ostream &out, const char *title, const json &list) {
  out << title << "\n";
  for (const json &it : list) {
    out << std::setw(6) << plain(it["position"]) << "  " << std::left
        << std::setw(12) << plain(it["role"]) << std::right << " "
        << plain(it["dtype"]) << it["shape"].dump() << "  "
        << plain(it["name"]);
    if (it.contains("combine"))
      out << "  (" << plain(it["combine"]) << ")";
    if (it.value("slices", 0) > 0)
      out << "  in " << it["slices"] << " slices";
    out << "\n";
  }
}

} // namespace

void printInfo(std::ostream &out, const json &manifest) {
  const json &target = manifest.at("target");
  const json &ranks = manifest.at("ranks");
  line(out, plain(manifest.at("name")))
      << plain(manifest.value("stages", json(ranks.size()))) << " stages on "
      << ranks.size() << " ranks, " << plain(manifest.at("microbatches"))
      << " microbatches, schedule " << plain(manifest.at("schedule")) << "\n";
  line(out, "processor") << plain(target.at("triple")) << ", "
                         << plain(target.value("cpu", json(""))) << "\n";
  line(out, "  features") << plain(target.at("features")) << "\n";
  for (const json &other : target.value("others", json::array())) {
    line(out, "or") << plain(other.at("cpu")) << "\n";
    line(out, "  features") << plain(other.at("features")) << "\n";
  }
  if (auto code = target.find("architectures"); code != target.end()) {
    json ptx = target.value("ptx", json::array());
    line(out, "GPU code") << plain(*code) << ", "
                          << (ptx.empty() ? "no PTX" : "PTX of " + plain(ptx))
                          << "\n";
  }
  line(out, "libraries") << plain(manifest.at("libraries")) << "\n";
  if (auto plan = manifest.find("plan");
      plan != manifest.end() && plan->is_object()) {
    out << "plan\n";
    printPlan(out, *plan);
  }
  printMemory(out, ranks);
  if (auto grid = manifest.find("grid");
      grid != manifest.end() && grid->is_string())
    out << "schedule\n" << grid->get<std::string>();
  printTensors(out, "arguments", manifest.at("arguments"));
  printTensors(out, "results", manifest.at("results"));
}
