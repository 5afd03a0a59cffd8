//===- Optima.h - small problems with optimal values ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the tables under Optima/. Optima/solve.py made them with CP-SAT and
// describes the format.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SCHEDULING_OPTIMA_H
#define STAGEWRIGHT_TEST_UNIT_SCHEDULING_OPTIMA_H

#include "../Random.h"
#include "stagewright/Scheduling/ScheduleProblem.h"
#include <fstream>
#include <optional>
#include <sstream>

namespace stagewright {

struct OptimaRow {
  std::string text;
  ScheduleProblem problem;
  /// Optima among orders that are first in, first out per stage and kind, and
  /// among all orders (Any); none if not proved.
  std::optional<double> span, makespan, spanAny, makespanAny;
};

/// Parses `count` numbers; a single number is repeated.
inline std::vector<double> readCosts(const std::string &text, size_t count) {
  std::vector<double> values;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');)
    values.push_back(std::stod(item));
  if (values.size() == 1)
    values.resize(count, values.front());
  return values;
}

inline OptimaRow readRow(const std::string &line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '|');)
    fields.push_back(field);
  OptimaRow row;
  row.text = line;
  ScheduleProblem &problem = row.problem;
  std::string placement;
  std::istringstream(fields[0]) >> placement >> problem.ranks >>
      problem.chunks >> problem.microbatches >> problem.memory;
  problem.placement = *parsePlacement(placement);
  size_t stages = size_t(problem.numStages());
  std::vector<double> costs[5];
  for (size_t i = 0; i < 5; ++i)
    costs[i] = readCosts(fields[i + 1], stages);
  for (size_t s = 0; s < stages; ++s)
    problem.stages.push_back({Seconds(costs[0][s]), Seconds(costs[1][s]),
                              Seconds(costs[2][s]), costs[3][s], costs[4][s],
                              0});
  for (double hop : readCosts(fields[6], stages - 1))
    problem.hops.push_back(Seconds(hop));
  std::istringstream optima(fields[7]);
  for (std::optional<double> *value :
       {&row.span, &row.makespan, &row.spanAny, &row.makespanAny}) {
    std::string item;
    optima >> item;
    if (item != "-")
      *value = std::stod(item);
  }
  return row;
}

/// The rows of one table: "random", "equal", "unequal" or "v". Builds with
/// more checks read only a part of "equal", which is long.
inline std::vector<OptimaRow> readOptima(const std::string &table) {
  std::ifstream file(STAGEWRIGHT_OPTIMA "/" + table + ".txt");
  std::vector<OptimaRow> rows;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      rows.push_back(readRow(line));
  if (table != "equal")
    return rows;
  std::vector<OptimaRow> part;
  for (size_t i = 0; i < rows.size(); i += testing::kPart)
    part.push_back(rows[i]);
  return part;
}

} // namespace stagewright

#endif // STAGEWRIGHT_TEST_UNIT_SCHEDULING_OPTIMA_H
