//===- Faults.cpp - handling faults of a run ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults.h"

#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <iostream>

using namespace stagewright::runtime;

static void noteSignal(int number) {
  sw_interrupt();
  std::signal(number, SIG_DFL);
}

void catchSignals() {
  for (int number : {SIGTERM, SIGINT, SIGUSR1})
    std::signal(number, noteSignal);
}

bool stopsAtNan(const std::string &asked, const nlohmann::json &manifest) {
  if (!asked.empty())
    return asked == "stop";
  const nlohmann::json &results = manifest.at("results");
  return std::any_of(results.begin(), results.end(), [](const auto &it) {
    return it.at("role") == "parameter";
  });
}

void requireFinite(std::optional<double> loss) {
  if (loss && !std::isfinite(*loss))
    raise("the loss is ", *loss);
}

DeadlinePrinter::DeadlinePrinter(bool prints, double given)
    : prints(prints), given(given) {
  if (!prints)
    return;
  std::cerr << "pp-run: deadline "
            << printSeconds(given > 0 ? given : Deadline::first);
  if (given > 0)
    std::cerr << std::endl;
  else
    std::cerr << " for the first step, then " << Deadline::factor
              << " times the median step, at least "
              << printSeconds(Deadline::minimum) << std::endl;
}

void DeadlinePrinter::after(const sw_step *step) {
  if (!prints || given > 0)
    return;
  double now = sw_step_deadline(step);
  if (now > 2 * printed || 2 * now < printed)
    std::cerr << "pp-run: deadline " << printSeconds(printed = now)
              << std::endl;
}
