//===- Figures.h - the figures of a run -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_FIGURES_H
#define STAGEWRIGHT_TOOLS_PP_RUN_FIGURES_H

#include "stagewright-rt/runtime.h"

#include "stagewright/Runtime/Training.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

/// Seconds of the last steps of a run. Memory does not grow with the number of
/// steps.
class RecentTimes {
public:
  RecentTimes() : ring(limit) {}

  void add(double seconds) { ring[size_t(count++ % limit)] = seconds; }
  /// The number of times added.
  int64_t steps() const { return count; }
  /// The times that are kept, the oldest first.
  std::vector<double> values() const;

private:
  static constexpr int64_t limit = 1024;
  std::vector<double> ring;
  int64_t count = 0;
};

/// What is reported besides the loss and the arenas.
struct Figures {
  RecentTimes seconds, enqueue;  ///< `enqueue` is empty for ranks on CPUs.
  bool idle = false;             ///< Whether to report idle shares.
  bool memory = false;           ///< Whether to report live bytes.
  double wall = 0;               ///< Seconds of all steps and between them.
  nlohmann::json sent = nullptr; ///< Bytes by rank and kind, for JSON.
  /// Of the last step.
  std::vector<stagewright::runtime::FetchedBytes> fetched;
};

/// The bytes that every rank sent in the last step, an object for each. If
/// there are several processes, all must call it; the first gets the result.
nlohmann::json sentBytes(sw_step *step, const nlohmann::json &manifest);

/// Prints time, memory and the other figures asked for, as text.
void report(const Figures &figures, sw_step *step,
            const nlohmann::json &manifest);

/// Prints the figures, without live bytes, and the loss as one line of JSON.
/// The loss is null if the step has none.
void reportJson(const Figures &figures, sw_step *step,
                const nlohmann::json &manifest, std::optional<double> loss);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_FIGURES_H
