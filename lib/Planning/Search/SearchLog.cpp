//===- SearchLog.cpp - the evaluations of a search in a file --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/SearchLog.h"
#include "stagewright/Support/Files.h"
#include "stagewright/Support/Printed.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace stagewright {

using nlohmann::json;

static std::string headerOf(const SearchOptions &options, uint64_t problem) {
  std::string digits =
      printed("%016llx", static_cast<unsigned long long>(problem));
  return json{
      {"search", options.driver}, {"seed", options.seed}, {"problem", digits}}
      .dump();
}

/// The plan and the time of a line; none if it is not an evaluation.
static std::optional<std::pair<Decisions, double>>
evaluationOf(const std::string &line) {
  json record = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("plan") ||
      !record.contains("seconds") || !record["plan"].is_array())
    return std::nullopt;
  Decisions plan;
  for (const json &decision : record["plan"]) {
    if (!decision.is_number_integer())
      return std::nullopt;
    plan.push_back(decision.get<int64_t>());
  }
  const json &seconds = record["seconds"];
  if (seconds.is_null())
    return std::pair(plan, std::numeric_limits<double>::infinity());
  if (!seconds.is_number() || !(seconds.get<double>() >= 0))
    return std::nullopt;
  return std::pair(plan, seconds.get<double>());
}

Status SearchLog::read(const std::string &text, const std::string &header) {
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (++number == 1) {
      if (line != header)
        return Error{"'" + path + "' is the log of another search, " +
                     (line.empty() ? "''" : line.substr(0, 120)) +
                     ", expected " + header +
                     "; give this search a file of its own"};
      continue;
    }
    auto evaluation = evaluationOf(line);
    if (!evaluation)
      return Error{"'" + path + "' line " + std::to_string(number) +
                   ": expected a plan and its seconds, got '" +
                   line.substr(0, 80) +
                   "'; remove this line and all after it, or delete the file"};
    times.insert(std::move(*evaluation));
  }
  return {};
}

Status SearchLog::open(const SearchOptions &options, uint64_t problem) {
  path = options.log;
  std::string header = headerOf(options, problem), text;
  std::error_code none;
  auto status = std::filesystem::status(path, none);
  // A device may never end.
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_character_file(status)) {
    Result<std::string> whole = readTextFile(path);
    if (!whole)
      return whole.error();
    text = std::move(*whole);
    if (text.find('\n') == text.npos && !header.starts_with(text))
      return Error{"'" + path +
                   "' is not a log of a search; give the search a "
                   "file of its own"};
    // Drops a last line without a newline; everything if there is no newline,
    // since npos + 1 is 0.
    text.resize(text.rfind('\n') + 1);
  }
  if (text.empty())
    text = header + "\n";
  if (Status status = read(text, header); !status)
    return status;
  if (Status status = writeTextFile(path, text); !status)
    return status;
  file.open(path, std::ios::app);
  return {};
}

std::optional<double> SearchLog::timeOf(const Decisions &plan) const {
  auto found = times.find(plan);
  return found == times.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::pair<Decisions, double>> SearchLog::fastest() const {
  auto best = std::min_element(
      times.begin(), times.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  if (best == times.end() || std::isinf(best->second))
    return std::nullopt;
  return *best;
}

Status SearchLog::add(const Decisions &plan, double seconds) {
  if (path.empty())
    return {};
  json record = {{"plan", plan}, {"seconds", nullptr}};
  if (std::isfinite(seconds))
    record["seconds"] = seconds;
  file << record.dump() << "\n" << std::flush;
  return file ? Status()
              : Error{"cannot append to '" + path + "'; is the disk full?"};
}

} // namespace stagewright
