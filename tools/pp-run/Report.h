//===- Report.h - what is said of a run -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_REPORT_H
#define STAGEWRIGHT_TOOLS_PP_RUN_REPORT_H

#include "stagewright-rt/runtime.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

/// Seconds of the last steps of a run: one of weeks needs no more memory than
/// one of a minute.
class LastSeconds {
public:
  LastSeconds() : ring(limit) {}

  void add(double seconds) { ring[size_t(count++ % limit)] = seconds; }
  /// How many were added.
  int64_t steps() const { return count; }
  /// Those that are kept, the oldest first.
  std::vector<double> values() const;

private:
  static constexpr int64_t limit = 1024;
  std::vector<double> ring;
  int64_t count = 0;
};

/// What is said besides times and arenas.
struct Figures {
  bool idle = false;   ///< How long ranks had nothing to do.
  bool memory = false; ///< Live bytes beside those printed.
  double wall = 0;     ///< Seconds of all steps and of what is between them.
  nlohmann::json sent = nullptr; ///< Bytes by rank and kind, for JSON.
};

/// What every rank sent in the last step, an object for each. With processes a
/// call of all, of which the first gets it.
nlohmann::json sentBytes(sw_step *step, const nlohmann::json &manifest);

/// Prints time, memory and what else is asked for, for people.
void report(const Figures &figures, sw_step *step,
            const nlohmann::json &manifest, const LastSeconds &times);

/// The same as one line of JSON. The loss is null where the step has none;
/// `enqueue` is empty on processors.
void reportJson(const Figures &figures, sw_step *step,
                const nlohmann::json &manifest, std::optional<double> loss,
                const LastSeconds &seconds, const LastSeconds &enqueue);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_REPORT_H
