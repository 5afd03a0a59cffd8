//===- ScheduleCosts.cpp - reads costs from flags -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleCosts.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

using llvm::StringRef;

namespace stagewright {

Result<int64_t> readCount(const char *flag, const std::string &text,
                          int64_t max, int64_t otherwise) {
  if (text.empty())
    return otherwise;
  int64_t number = 0;
  if (StringRef(text).getAsInteger(10, number) || number < 1 || number > max)
    return Error{std::string(flag) + " must be a number from 1 to " +
                 std::to_string(max) + ", but is '" + text + "'"};
  return number;
}

/// Parses a decimal number that is not negative.
static Result<double> readNumber(const char *flag, StringRef text) {
  double number = 0;
  text = text.trim();
  bool decimal = !text.empty() &&
                 text.find_first_not_of("0123456789.eE+-") == StringRef::npos;
  if (!decimal || text.getAsDouble(number) || !std::isfinite(number) ||
      number < 0)
    return Error{std::string(flag) +
                 " must be a number that is not negative, but is '" +
                 text.str() + "'"};
  return number;
}

/// Parses `count` values: "1" for all, or "1,2,3". With `spare`, one more value
/// is allowed and ignored.
static Result<std::vector<double>> readValues(const char *flag,
                                              const std::string &text,
                                              size_t count, const char *what,
                                              bool spare = false) {
  llvm::SmallVector<StringRef> parts;
  StringRef(text).split(parts, ',');
  std::vector<double> values;
  for (StringRef part : parts) {
    Result<double> value = readNumber(flag, part);
    if (!value)
      return value.error();
    values.push_back(*value);
  }
  if (values.size() == 1)
    return std::vector<double>(count, values.front());
  if (spare && values.size() == count + 1)
    values.pop_back();
  if (values.size() != count)
    return Error{std::string(flag) + ": " + std::to_string(values.size()) +
                 " values for " + std::to_string(count) + " " + what};
  return values;
}

Status readCosts(const ScheduleFlags &flags, ScheduleProblem &problem) {
  auto count = size_t(problem.numStages());
  problem.stages.assign(count, {});
  problem.hops.assign(count - 1, {});
  struct Cost {
    const char *flag;
    const std::string &text;
    /// Used if the flag is not given: a number, or the text of another flag.
    const std::string &otherwise;
    void (*set)(StageCosts &stage, double value);
  };
  const std::string one = "1", none = "0";
  const std::string &forward = flags.forward.empty() ? one : flags.forward;
  const std::string &activation =
      flags.activation.empty() ? one : flags.activation;
  for (const Cost &cost : std::initializer_list<Cost>{
           {"--forward", flags.forward, one,
            [](StageCosts &s, double v) { s.forward = Seconds(v); }},
           {"--input-grad", flags.inputGradient, forward,
            [](StageCosts &s, double v) { s.inputGradient = Seconds(v); }},
           {"--weight-grad", flags.weightGradient, forward,
            [](StageCosts &s, double v) { s.weightGradient = Seconds(v); }},
           {"--activation", flags.activation, one,
            [](StageCosts &s, double v) { s.activation = v; }},
           {"--weight-grad-activation", flags.weightGradActivation, activation,
            [](StageCosts &s, double v) { s.kept = v; }},
           {"--recompute-input", flags.recomputeInput, none,
            [](StageCosts &s, double v) { s.recomputeInput = v; }}}) {
    auto values =
        readValues(cost.flag, cost.text.empty() ? cost.otherwise : cost.text,
                   count, "stages");
    if (!values)
      return values.error();
    for (size_t s = 0; s < count; ++s)
      cost.set(problem.stages[s], (*values)[s]);
  }
  auto hops = readValues("--hop", flags.hop.empty() ? none : flags.hop,
                         count - 1, "hops between stages", /*spare=*/true);
  if (!hops)
    return hops.error();
  for (size_t s = 0; s + 1 < count; ++s)
    problem.hops[s] = Seconds((*hops)[s]);
  if (!flags.memory.empty()) {
    Result<double> memory = readNumber("--memory", flags.memory);
    if (!memory)
      return memory.error();
    problem.memory = *memory;
  }
  if (!flags.overlap.empty()) {
    Result<double> overlap = readNumber("--overlap", flags.overlap);
    if (!overlap)
      return overlap.error();
    problem.overlap = *overlap;
  }
  problem.forwardOnly = flags.forwardOnly;
  return problem.check();
}

} // namespace stagewright
