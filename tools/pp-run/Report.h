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

/// What is said besides times and arenas.
struct Figures {
  bool idle = false;   ///< How long ranks had nothing to do.
  bool memory = false; ///< Live bytes beside those printed.
};

/// Prints time, memory and what else is asked for, for people. `seconds` are
/// those of every step.
void report(const Figures &figures, sw_step *step,
            const nlohmann::json &manifest, std::vector<double> seconds);

/// The same as one line of JSON. The loss is null where the step has none;
/// `enqueue` is empty on processors.
void reportJson(const Figures &figures, sw_step *step,
                const nlohmann::json &manifest, std::optional<double> loss,
                const std::vector<double> &seconds,
                const std::vector<double> &enqueue);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_REPORT_H
